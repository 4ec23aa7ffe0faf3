// The API site: every entry of every package, with the READMEs. A link that leads nowhere, or a name in the surface that is not
// exported, fails. Usage: npm run docs        writes docs/api, which is not committed
//        node tools/packaging/src/docs/main.ts DIR
import path from 'node:path';
import { publishedPackages, root } from '../workspace.ts';
import { buildSite } from './site.ts';

const output = path.resolve(process.argv[2] ?? path.join(root, 'docs/api'));
const { entries, faults } = await buildSite(root, publishedPackages(), output);
console.log(`${path.relative(process.cwd(), output)}: ${entries} entries, ${faults} faults`);
process.exitCode = faults > 0 ? 1 : 0;
