// Builds the API site: every entry of every package, with the READMEs. Fails on broken links and on names in the public
// surface that are not exported.
// Usage: npm run docs        writes docs/api, which is not committed
//        node tools/packaging/src/docs/main.ts DIR
import path from 'node:path';
import { publishedPackages, root } from '../workspace.ts';
import { buildSite } from './site.ts';

const output = path.resolve(process.argv[2] ?? path.join(root, 'docs/api'));
const { entries, faults } = await buildSite(root, publishedPackages(), output);
console.log(`${path.relative(process.cwd(), output)}: ${entries} entries, ${faults} faults`);
process.exitCode = faults > 0 ? 1 : 0;
