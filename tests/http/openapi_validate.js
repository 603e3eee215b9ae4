// node openapi_validate.js MODULES FILE: FILE holds {"document":{...},"answers":[{"what","schema","body"}]}.
// Prints what does not fit its schema; exit status 1 when anything does not.
const fs = require("fs");
const path = require("path");

const [modules, file] = process.argv.slice(2);
const Ajv = require(path.join(modules, "ajv", "dist", "2020")).default;
const { document, answers } = JSON.parse(fs.readFileSync(file, "utf8"));
const ajv = new Ajv({ strict: false, allErrors: true });
ajv.addSchema({ $id: "http://d/o", components: document.components });
let bad = 0;
for (const { what, schema, body } of answers) {
  const validate = ajv.getSchema("http://d/o#/components/schemas/" + schema);
  if (!validate) {
    console.log(`${what}: no schema ${schema}`);
    bad++;
  } else if (!validate(body)) {
    console.log(`${what}: ${JSON.stringify(validate.errors.slice(0, 5))}`);
    bad++;
  }
}
console.log(`${answers.length} answers, ${bad} not as their schema says`);
process.exit(bad || !answers.length ? 1 : 0);
