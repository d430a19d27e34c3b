// Counts the checks the conformance suite wrote below a folder: REVISION/SCENARIO/…/checks.json.
// Fails where one failed, or where the suite checked nothing.
import { globSync, readFileSync } from "node:fs";
import { relative, sep } from "node:path";

const root = process.argv[2];
const count = { passed: 0, failed: 0, untestable: 0 };

// The suite fails a check it cannot make because a tool of its own fixture is not there.
const wantsFixture = (check) => /^Not testable: server (does not list the diagnostic tool|exposes no tool)/.test(check.errorMessage ?? "");

for (const file of globSync(`${root}/**/checks.json`)) {
  const [revision, scenario] = relative(root, file).split(sep);
  for (const check of JSON.parse(readFileSync(file, "utf8"))) {
    if (check.status === "SUCCESS") count.passed += 1;
    if (check.status !== "FAILURE") continue;
    const kind = wantsFixture(check) ? "untestable" : "failed";
    count[kind] += 1;
    console.log(`${kind} ${revision} ${scenario} ${check.id}: ${check.errorMessage ?? check.description}`);
  }
}
console.log(`passed=${count.passed} failed=${count.failed} untestable=${count.untestable}`);
process.exit(count.failed === 0 && count.passed > 0 ? 0 : 1);
