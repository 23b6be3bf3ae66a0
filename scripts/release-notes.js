// Prints the notes of the version in package.json: its section of CHANGELOG.md, and the schema changes since the
// previous version, whose tag may be given as an argument.
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { notesOf } from './changelog.js';

const { version } = JSON.parse(readFileSync('package.json', 'utf8'));
const [before] = process.argv.slice(2);
let notes;
try {
  notes = notesOf(version);
} catch (error) {
  process.stderr.write(`${error.message}\n`);
  process.exit(1);
}
const changes = before
  ? spawnSync(process.execPath, ['scripts/schema-changes.js', before], { encoding: 'utf8' }).stdout
  : '';
process.stdout.write(`${notes}\n${changes && `\n\`\`\`text\n${changes}\`\`\`\n`}`);
