// node openapi_validate.js MODULES DOCUMENT ANSWERS...: each of ANSWERS holds lines {"method","path","status","type","body"}, DOCUMENT
// is /openapi.json. Prints what the document does not say; exit status 1 when there is anything such, or no answer at all.
// Afterwards, as the last line, {"schemas":[...]}: those that an answer was held against.
const fs = require("fs");
const path = require("path");

const [modules, file, ...recorded] = process.argv.slice(2);
const Ajv = require(path.join(modules, "ajv", "dist", "2020")).default;
const document = JSON.parse(fs.readFileSync(file, "utf8"));
const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addSchema({ $id: "http://d/o", components: document.components });
const used = new Set();
const validators = new Map();

const refer = (schema) => JSON.parse(JSON.stringify(schema).replaceAll('"#/components', '"http://d/o#/components'));

// The schemas that are named in it, those behind them as well.
function note(schema) {
  for (const [, name] of JSON.stringify(schema).matchAll(/"#\/components\/schemas\/([A-Za-z]+)"/g)) {
    if (used.has(name)) continue;
    used.add(name);
    note(document.components.schemas[name]);
  }
}

function fits(schema, value) {
  const key = JSON.stringify(schema);
  if (!validators.has(key)) {
    note(schema);
    validators.set(key, ajv.compile(refer(schema)));
  }
  const validate = validators.get(key);
  return validate(value) ? null : JSON.stringify(validate.errors.slice(0, 5));
}

function parse(text) {
  try {
    return { value: JSON.parse(text) };
  } catch (error) {
    return { wrong: `${error.message}: ${text.slice(0, 200)}` };
  }
}

function lines(schema, body) {
  if (body && !body.endsWith("\n")) return "the last line has no end";
  for (const line of body.split("\n").slice(0, -1)) {
    const { value, wrong } = parse(line);
    const why = wrong || fits(schema.contentSchema.items, value);
    if (why) return why;
  }
  return null;
}

function content(response, answer) {
  const known = response.content || {};
  const media = known[(answer.type || "").split(";")[0]] || known["*/*"];
  if (!media) return `content type ${answer.type} is not told`;
  if (answer.method === "HEAD" || answer.body === null) return null;
  if (media.schema.contentSchema) return lines(media.schema, answer.body);
  if (media.schema.type === "string") return null;
  const { value, wrong } = parse(answer.body);
  return wrong || fits(media.schema, value);
}

// A path or method that there is not, a message that is none: a problem, whatever else the document says.
const problem = document.components.responses.Problem;

function responseOf(answer) {
  const given = answer.path.split("?")[0];
  const pattern = Object.keys(document.paths).find((p) => new RegExp("^" + p.replaceAll(".", "\\.").replace(/{[a-z]+}/g, "[^/]+") + "$").test(given));
  const item = document.paths[pattern] || {};
  const operation = item[answer.method === "HEAD" ? "get" : answer.method.toLowerCase()];
  if (!operation) return answer.status >= 400 ? problem : null;
  const response = operation.responses[answer.status] || operation.responses[String(answer.status)[0] + "XX"];
  return response && response.$ref ? document.components.responses[response.$ref.split("/").pop()] : response;
}

function judge(answer) {
  const response = responseOf(answer);
  if (!response) return `status ${answer.status} is not told`;
  return answer.status === 304 ? null : content(response, answer);
}

let count = 0;
let bad = 0;
for (const name of recorded) {
  for (const line of fs.readFileSync(name, "utf8").split("\n").filter(Boolean)) {
    const answer = JSON.parse(line);
    if (answer.method === "OPTIONS") continue;
    const why = judge(answer);
    count++;
    if (why) {
      bad++;
      if (bad <= 20) console.log(`${path.basename(name)}: ${answer.method} ${answer.path.slice(0, 200)} ${answer.status}: ${why}`);
    }
  }
}
console.log(`${count} answers, ${bad} not as the document says`);
console.log(JSON.stringify({ schemas: [...used] }));
process.exit(bad || !count ? 1 : 0);
