// What the end-to-end tests take beside npm's packages. Where it is neither there nor to be installed, the tests that need it are skipped, and
// say why.
import { installMissing, NODE_PACKAGES } from '../bootstrap/system-packages.mjs';

const { missing, output } = installMissing(NODE_PACKAGES, console.log);
if (output !== undefined) {
  console.error(output);
  process.exit(1);
}
if (missing.length === 0) console.log('all there');
