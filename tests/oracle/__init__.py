"""The oracle: a slow, independent, readable implementation of docs/READING.md and of the contract of
/info, /stats and /view. Expected answers of the golden tests come from here. See README.md."""
