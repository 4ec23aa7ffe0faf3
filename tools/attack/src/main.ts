import { parseArgs } from 'node:util';
import { ATTACKS } from './attacks/index.ts';
import { type Result, runAttack } from './run.ts';
import { attackTable } from './table.ts';

const HELP = `Usage: npm run attack -- [options]
Attacks the ports, sockets, manifests and API objects of a kubelet on the loopback interface. Each attack runs against its
own victim: a process with resource limits. Prints a table. Exits with 1 if an attack succeeds.
  --only REGEXP   only the attacks whose names match
  --json          print JSON
  --help          print this help
`;
/** Maximum duration of an attack. */
const TIMEOUT_MS = 30_000;

async function main(argv: readonly string[]): Promise<number> {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      only: { type: 'string', default: '' },
      json: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    process.stdout.write(HELP);
    return 0;
  }
  const only = new RegExp(values.only);
  const attacks = ATTACKS.filter(({ name }) => only.test(name));
  if (attacks.length === 0) throw new Error('--only must match the name of an attack');
  const results: Result[] = [];
  for (const attack of attacks) {
    process.stderr.write(`attack: ${attack.name}\n`);
    results.push(await runAttack(attack, { share: 1, timeoutMs: TIMEOUT_MS }));
  }
  process.stdout.write(values.json ? `${JSON.stringify(results, null, 2)}\n` : attackTable(results));
  return results.some(({ successes }) => successes.length > 0) ? 1 : 0;
}

main(process.argv.slice(2)).then(
  // Exits explicitly, because a failed attack may have left open handles.
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`attack: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
