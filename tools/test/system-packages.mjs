// Installs the system packages that the end-to-end tests need in addition to npm packages. If a package cannot be
// installed, the tests that need it are skipped with a reason.
import { BROWSER_PACKAGES, installMissing, NODE_PACKAGES } from '../bootstrap/system-packages.mjs';

const { missing, output } = installMissing(NODE_PACKAGES, console.log);
if (output !== undefined) {
  console.error(output);
  process.exit(1);
}
if (missing.length === 0) console.log('all packages are installed');
const browser = installMissing(BROWSER_PACKAGES, console.log);
if (browser.output !== undefined) console.log(browser.output);
if (browser.missing.length > 0) console.log('tests with a browser are skipped');
