// The page that people read: docs/reference/pod-spec.md.

const SIGNS = {
  works: '✅ works',
  partly: '🟡 in part',
  refused: '⛔ refused',
  others: '➖ not the kubelet’s',
};

const HEAD = `# The fields of a pod

<!-- Written by \`node tools/checks/pod-fields.mjs --write\` from tools/checks/pod-fields; change it there. -->

What becomes here of each field of a v1 PodSpec, and of all that it holds, as Kubernetes 1.36 has it. \`npm test\` checks that no field
of the schema is left out, and that each test that is named exists.

| | |
| --- | --- |
| ${SIGNS.works} | It does what the API says; the tests that are named show it. |
| ${SIGNS.partly} | It works but for what is said. |
| ${SIGNS.refused} | A pod that has it is rejected, or its container waits, with the error that is quoted. |
| ${SIGNS.others} | Somebody else acts on it: the scheduler, the API server, a controller. |
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

/** @param types each `{ type, verdicts }` */
export function page(types) {
  const rank = (type) => (FIRST.includes(type) ? FIRST.indexOf(type) : FIRST.length);
  const order = types.toSorted((a, b) => rank(a.type) - rank(b.type) || (a.type < b.type ? -1 : 1));
  return `${HEAD}\n${glance(order)}\n${order.map(section).join('\n')}`;
}

function fieldsOf({ fields }) {
  return fields.split(' ').sort();
}

/** How many fields of each type are how far, and which do not work. */
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

| Type | Works | Does not, or not all of it |
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
  return `## ${type}\n\n| Field | | Why, and what shows it |\n| --- | --- | --- |\n${rows.join('')}`;
}

function cell({ note, error, tests }) {
  const parts = [];
  if (error !== undefined) parts.push(`“${error}”`);
  if (note !== undefined) parts.push(note);
  for (const [file, title] of tests) parts.push(`[${file.split('/').at(-1)}](../../../${file}): ${title}`);
  return parts.join('; ').replaceAll('|', '\\|');
}
