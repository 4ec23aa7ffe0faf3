import { parseArgs } from 'node:util';
import { ATTACKS } from './attacks/index.ts';
import { type Result, runAttack } from './run.ts';
import { attackTable } from './table.ts';

const HELP = `Usage: npm run attack -- [options]
Attacks the ports, sockets, manifests and API objects of a kubelet on loopback. Each attack has a victim of its own: a process with
limits. Prints a table. Exits with 1 if an attack succeeds.
  --only REGEXP   only the attacks whose names match
  --json          print JSON
  --help
`;
/** How long one attack may take. */
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
  if (attacks.length === 0) throw new Error('--only: no attack has such a name');
  const results: Result[] = [];
  for (const attack of attacks) {
    process.stderr.write(`attack: ${attack.name}\n`);
    results.push(await runAttack(attack, { share: 1, timeoutMs: TIMEOUT_MS }));
  }
  process.stdout.write(values.json ? `${JSON.stringify(results, null, 2)}\n` : attackTable(results));
  return results.some(({ successes }) => successes.length > 0) ? 1 : 0;
}

main(process.argv.slice(2)).then(
  // What a failed attack has left behind shall not keep the program.
  (code) => process.exit(code),
  (error: unknown) => {
    process.stderr.write(`attack: ${error instanceof Error ? error.message : String(error)}\n`);
    process.exit(1);
  },
);
