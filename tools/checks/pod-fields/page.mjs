// Renders docs/reference/pod-spec.md.
import fs from 'node:fs';
import path from 'node:path';
import { root } from '../../bootstrap/toolchain.mjs';

const SIGNS = {
  works: '✅ works',
  partly: '🟡 in part',
  refused: '⛔ refused',
  others: '➖ not the kubelet’s',
};

const HEAD = `# The fields of a pod

<!-- Written by \`node tools/checks/pod-fields.mjs --write\` from tools/checks/pod-fields; change it there. -->

Whether this kubelet supports each field of a v1 PodSpec and of every type that a PodSpec contains, as of Kubernetes 1.36. \`npm test\` checks
that no field of the schema is missing here, and that each named test exists.

| | |
| --- | --- |
| ${SIGNS.works} | The field does what the API documents. The named tests show it. |
| ${SIGNS.partly} | The field works, except for what its row says. |
| ${SIGNS.refused} | A pod with this field is rejected, or its container waits, with the quoted error. |
| ${SIGNS.others} | Another component acts on the field: the scheduler, the API server, a controller. |
`;

const FIRST = [
  'PodSpec',
  'Container',
  'EphemeralContainer',
  'Probe',
  'Lifecycle',
  'PodSecurityContext',
  'SecurityContext',
];

/** Renders the whole page. @param types each `{ type, verdicts }` */
export function page(types) {
  const rank = (type) => (FIRST.includes(type) ? FIRST.indexOf(type) : FIRST.length);
  const order = types.toSorted((a, b) => rank(a.type) - rank(b.type) || (a.type < b.type ? -1 : 1));
  return `${HEAD}\n${glance(order)}\n${order.map(section).join('\n')}`;
}

function fieldsOf({ fields }) {
  return fields.split(' ').sort();
}

/** Renders the overview: the number of supported fields per type, and the fields that are not fully supported. */
function glance(types) {
  const rows = types
    .filter(({ type }) => FIRST.includes(type))
    .map(({ type, verdicts }) => {
      const named = (...states) =>
        verdicts
          .filter(({ state }) => states.includes(state))
          .flatMap(fieldsOf)
          .sort()
          .map((field) => `\`${field}\``);
      const works = named('works').length;
      const all = named('works', 'partly', 'refused').length;
      const rest = [
        ...named('partly').map((field) => `🟡 ${field}`),
        ...named('refused').map((field) => `⛔ ${field}`),
      ];
      return `| [${type}](#${type.toLowerCase()}) | ${works} of ${all} | ${rest.join(', ') || '—'} |\n`;
    });
  return `## At a glance

| Type | Supported fields | Refused or supported in part |
| --- | --- | --- |
${rows.join('')}`;
}

function section({ type, verdicts }) {
  const rows = verdicts
    .toSorted((a, b) => (fieldsOf(a)[0] < fieldsOf(b)[0] ? -1 : 1))
    .map((verdict) => {
      const fields = fieldsOf(verdict).map((field) => `\`${field}\``);
      return `| ${fields.join(', ')} | ${SIGNS[verdict.state]} | ${cell(verdict)} |\n`;
    });
  return `## ${type}\n\n| Field | | Reason, and tests |\n| --- | --- | --- |\n${rows.join('')}`;
}

function cell({ note, error, tests }) {
  const parts = [];
  if (error !== undefined) parts.push(`“${error}”`);
  if (note !== undefined) parts.push(note);
  for (const [file, title] of tests) parts.push(`[${file.split('/').at(-1)}](../../${file}): ${testName(file, title)}`);
  return parts.join('; ').replaceAll('|', '\\|');
}

/** Returns the name of a test. For the label of a row, that is the title of the row's `test.each` with the label in it. */
function testName(file, title) {
  const text = fs.readFileSync(path.join(root, file), 'utf8');
  const at = ["'", '"', '`'].map((quote) => text.indexOf(`${quote}${title}${quote}`)).find((index) => index >= 0);
  if (at === undefined || !text.slice(0, at).trimEnd().endsWith('[')) return title;
  const [, , ofTable] = /\]\s*(?:as const\s*)?\)\(\s*(['"`])(.*?)\1/.exec(text.slice(at)) ?? [];
  return ofTable?.includes('%s') ? ofTable.replace('%s', () => title).replace(/: (?:%[sj]$|\$\d.*$)/, '') : title;
}
