// Builds the artifacts that are installed on nodes: the single executable file, the Debian package and the image
// archive.
import { createHash } from 'node:crypto';
import fs from 'node:fs';
import path from 'node:path';
import { parseArgs } from 'node:util';
import { root } from '../workspace.ts';
import { buildSingleFiles, type SingleFile } from './build.ts';
import { debianPackage } from './debian-package.ts';
import { imageArchive } from './image-archive.ts';
import { LINKS, nodeAgentPackage } from './node-agent-package.ts';
import { ARCHITECTURES, type Architecture } from './node-program.ts';
import { debianVersion, readSource } from './source.ts';

const HELP = `Usage: npm run package -- [--arch amd64|arm64]... [--output DIR]

Builds the kubelet for nodes without Node.js: one executable file, a Debian package and an OCI image archive. The same
commit gives the same bytes.

  --arch ARCH    the target's architecture; may be repeated; default: amd64 and arm64
  --output DIR   default: .packed/node
`;

const { values } = parseArgs({
  options: {
    arch: { type: 'string', multiple: true },
    output: { type: 'string' },
    help: { type: 'boolean', short: 'h' },
  },
});
const wanted = values.arch ?? Object.keys(ARCHITECTURES);
const unknown = wanted.find((name) => !(name in ARCHITECTURES));
if (values.help) process.stdout.write(HELP);
else if (unknown !== undefined) {
  console.error(`--arch: must be one of ${Object.keys(ARCHITECTURES).join(', ')}, not ${unknown}`);
  process.exitCode = 2;
} else await writePackages(wanted as Architecture[], path.resolve(values.output ?? path.join(root, '.packed/node')));

async function writePackages(architectures: readonly Architecture[], output: string): Promise<void> {
  const source = readSource(process.env);
  const version = debianVersion(source);
  fs.rmSync(output, { recursive: true, force: true });
  fs.mkdirSync(output, { recursive: true });
  const sums: string[] = [];
  const write = (name: string, content: Uint8Array, mode = 0o644): void => {
    fs.writeFileSync(path.join(output, name), content, { mode });
    sums.push(`${createHash('sha256').update(content).digest('hex')}  ${name}\n`);
    console.log(`${path.join(output, name)}, ${(content.length / 1e6).toFixed(1)} MB`);
  };
  const writeOne = ({ architecture, program, copyright }: SingleFile): void => {
    const { seconds } = source;
    write(`kubelet-linux-${architecture}`, program, 0o755);
    const content = nodeAgentPackage({ version, architecture, program, copyright, seconds });
    write(`node-agent_${version}_${architecture}.deb`, debianPackage(content));
    const reference = `node-agent.local/kubelet:${version.replace('+', '-')}`;
    const labels = { 'org.opencontainers.image.revision': source.commit, 'org.opencontainers.image.version': version };
    write(
      `kubelet-image-${architecture}.tar`,
      imageArchive({ reference, architecture, program, links: LINKS, labels, seconds }),
    );
  };
  for (const file of await buildSingleFiles(source, architectures)) writeOne(file);
  fs.writeFileSync(path.join(output, 'SHA256SUMS'), sums.join(''));
}
