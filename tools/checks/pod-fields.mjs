// Checks that tools/checks/pod-fields has a verdict for each field of a PodSpec (works, refused, or not the kubelet's),
// that each named test exists, and that docs/reference/pod-spec.md is up to date. With `--write`, writes
// docs/reference/pod-spec.md.
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
for (const type of verdicts.keys()) if (!schema.has(type)) faults.push(`${type}: a PodSpec contains no such type`);

if (faults.length === 0) {
  const text = page([...schema.keys()].map((type) => ({ type, verdicts: verdicts.get(type) })));
  const file = path.join(root, PAGE);
  if (process.argv.includes('--write')) fs.writeFileSync(file, text);
  else if (!fs.existsSync(file) || fs.readFileSync(file, 'utf8') !== text) {
    faults.push(`${PAGE} is out of date: run node tools/checks/pod-fields.mjs --write`);
  }
}
for (const fault of faults) console.error(fault);
if (faults.length > 0) process.exit(1);
const count = [...schema.values()].reduce((sum, fields) => sum + fields.size, 0);
console.log(`${count} fields of ${schema.size} types have a verdict`);

/** Reads the fields of each type, and the type of each field, from the schema that the packages' types are generated from. */
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
      if (!fields.has(field)) faults.push(`${type}.${field}: the schema has no such field`);
      if (seen.has(field)) faults.push(`${type}.${field}: is listed twice`);
      seen.add(field);
      checkShown(`${type}.${field}`, field, verdict);
    }
  }
  for (const field of fields.keys()) {
    if (!seen.has(field)) faults.push(`${type}.${field}: is not listed; add the field to tools/checks/pod-fields`);
  }
}

/** Checks that the tests of a verdict exist and, if the field works, that one of the test files names the field. */
function checkShown(at, field, { state, tests }) {
  if (state === 'others') return;
  if (tests.length === 0) faults.push(`${at}: names no test`);
  const texts = tests.map(([file, title]) => textOf(at, file, title));
  const isNamed = texts.some((text) => new RegExp(`\\b${field}\\b`).test(text));
  if (state !== 'refused' && !isNamed) faults.push(`${at}: no file of its tests names ${field}`);
}

function textOf(at, file, title) {
  const full = path.join(root, file);
  if (!fs.existsSync(full)) {
    faults.push(`${at}: ${file} does not exist`);
    return '';
  }
  const text = fs.readFileSync(full, 'utf8');
  const isThere = ["'", '"', '`'].some((quote) => text.includes(quote + title + quote));
  if (!isThere) faults.push(`${at}: ${file} has no test called "${title}"`);
  return text;
}
