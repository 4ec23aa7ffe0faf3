// Every field of a pod's spec is accounted for: it works, with the tests that show it, or it is refused, or it is not the kubelet's. Says what
// nobody has looked at, and compares docs/reference/pod-spec.md, which `--write` makes anew from tools/checks/pod-fields.
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../bootstrap/toolchain.mjs';
import { containers } from './pod-fields/containers.mjs';
import { page } from './pod-fields/page.mjs';
import { pod } from './pod-fields/pod.mjs';
import { security } from './pod-fields/security.mjs';
import { volumes } from './pod-fields/volumes.mjs';

const PAGE = 'docs/reference/pod-spec.md';
const faults = [];
const schema = reachedFrom('PodSpec', readSchema());
const verdicts = new Map(Object.entries({ ...pod, ...containers, ...security, ...volumes }));

for (const [type, fields] of schema) checkType(type, fields, verdicts.get(type) ?? []);
for (const type of verdicts.keys()) if (!schema.has(type)) faults.push(`${type}: a pod's spec holds no such type`);

if (faults.length === 0) {
  const text = page([...schema.keys()].map((type) => ({ type, verdicts: verdicts.get(type) })));
  const file = path.join(root, PAGE);
  if (process.argv.includes('--write')) fs.writeFileSync(file, text);
  else if (!fs.existsSync(file) || fs.readFileSync(file, 'utf8') !== text) {
    faults.push(`${PAGE} is not what tools/checks/pod-fields says: node tools/checks/pod-fields.mjs --write`);
  }
}
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
const count = [...schema.values()].reduce((sum, fields) => sum + fields.size, 0);
console.log(`${count} fields of ${schema.size} types are accounted for`);

/** The fields of each type of the schema that the packages' types are made from, with the type that each holds. */
function readSchema() {
  const text = fs.readFileSync(path.join(root, 'packages/pod-spec/schema/api.txt'), 'utf8');
  const lines = text.split('\n').filter((line) => line !== '' && !line.startsWith('#') && !line.startsWith('kinds '));
  return new Map(
    lines.map((line) => {
      const [name, , ...fields] = line.split(' ');
      return [name, new Map(fields.map((field) => field.replace('!', '').split(':')))];
    }),
  );
}

function reachedFrom(first, types) {
  const reached = new Map();
  const visit = (name) => {
    const fields = types.get(name);
    if (fields === undefined || reached.has(name)) return;
    reached.set(name, fields);
    for (const type of fields.values()) visit(type.replace(/^[[{]+/, ''));
  };
  visit(first);
  return reached;
}

function checkType(type, fields, list) {
  const seen = new Set();
  for (const verdict of list) {
    for (const field of verdict.fields.split(' ')) {
      if (!fields.has(field)) faults.push(`${type}.${field}: there is no such field`);
      if (seen.has(field)) faults.push(`${type}.${field}: is accounted for twice`);
      seen.add(field);
      checkShown(`${type}.${field}`, field, verdict);
    }
  }
  for (const field of fields.keys()) {
    if (!seen.has(field))
      faults.push(`${type}.${field}: nobody has looked at it; say in tools/checks/pod-fields what becomes of it`);
  }
}

/** What is said to work, or to be refused, is so by tests that there are, and that of the former speaks of the field. */
function checkShown(at, field, { state, tests }) {
  if (state === 'others') return;
  if (tests.length === 0) faults.push(`${at}: no test shows it`);
  const texts = tests.map(([file, title]) => textOf(at, file, title));
  const isNamed = texts.some((text) => new RegExp(`\\b${field}\\b`).test(text));
  if (state !== 'refused' && !isNamed) faults.push(`${at}: none of its tests' files names ${field}`);
}

function textOf(at, file, title) {
  const full = path.join(root, file);
  if (!fs.existsSync(full)) {
    faults.push(`${at}: there is no ${file}`);
    return '';
  }
  const text = fs.readFileSync(full, 'utf8');
  const isThere = ["'", '"', '`'].some((quote) => text.includes(quote + title + quote));
  if (!isThere) faults.push(`${at}: ${file} has no test called "${title}"`);
  return text;
}
