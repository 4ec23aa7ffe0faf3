// Bundles the page into one document and writes it as src/generated/page.ts, with the content security policy that
// allows exactly this script and this style.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { build } from 'esbuild';

const source = path.join(import.meta.dirname, '../src/page');
const target = path.join(import.meta.dirname, '../src/generated');

const common = {
  bundle: true,
  write: false,
  minify: true,
  legalComments: 'none',
  charset: 'utf8',
  logLevel: 'warning',
};
const bundled = async (file, options) => {
  const { outputFiles } = await build({ entryPoints: [path.join(source, file)], ...common, ...options });
  return outputFiles[0].text.trim();
};
const script = await bundled('main.ts', { format: 'iife', target: 'es2022', platform: 'browser' });
const style = await bundled('page.css', { target: ['chrome115', 'firefox115', 'safari16'] });
if (/<\/(script|style)/i.test(script + style)) throw new Error('script or style contains its own end tag');

const html = fs
  .readFileSync(path.join(source, 'page.html'), 'utf8')
  .replaceAll(/\s*<!--.*?-->/gs, '')
  .replace('<style></style>', () => `<style>${style}</style>`)
  .replace('<script></script>', () => `<script>${script}</script>`);
if (!html.includes(script) || !html.includes(style)) throw new Error('page.html has no place for script or style');

const hash = (text) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`;
const policy = [
  "default-src 'none'",
  `script-src ${hash(script)}`,
  `style-src ${hash(style)}`,
  "connect-src 'self'",
  'img-src data:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  // Forbids that code of the page turns text into markup or script, even by mistake.
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

fs.mkdirSync(target, { recursive: true });
const constant = (name, doc, value) => `/** ${doc} */\nexport const ${name}: string =\n  ${JSON.stringify(value)};\n`;
fs.writeFileSync(
  path.join(target, 'page.ts'),
  `// Written by scripts/generate.mjs.\n\n${constant('pageHtml', 'The page, with its script and style.', html)}\n${constant(
    'contentSecurityPolicy',
    'Content security policy of the page.',
    policy,
  )}`,
);
