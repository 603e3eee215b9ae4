// Names of files as the parameter `file` takes them, which may be patterns.

/** Chosen by its name: what is special in patterns stands for itself. Others are no patterns, and as they are. */
export const literalFile = (name: string): string => (/[*?[]/.test(name) ? name.replace(/[*?[\\]/g, "\\$&") : name);
/** For people. */
export const fileName = (file: string): string => (/[*?[]/.test(file) ? file.replace(/\\([*?[\\])/g, "$1") : file);
