import fs from 'node:fs';
import path from 'node:path';
import { expect, test } from 'vitest';
import { withKubeletVersion } from '../../src/readme/version.ts';
import { publishedPackages, root } from '../../src/workspace.ts';

test('withKubeletVersion replaces each version of the kubelet that a README shows', () => {
  const shown = 'v1.36.3+node-agent.0.0.0\nkubeletVersion: "v1.36.3+node-agent.0.1.0-rc.1".\n';
  expect(withKubeletVersion(shown, '0.2.0')).toBe(
    'v1.36.3+node-agent.0.2.0\nkubeletVersion: "v1.36.3+node-agent.0.2.0".\n',
  );
  expect(withKubeletVersion('npm install @node-agent/kubelet 1.0.0\n', '0.2.0')).toBe(
    'npm install @node-agent/kubelet 1.0.0\n',
  );
});

test("the READMEs show the kubelet's version of the build", () => {
  const packages = publishedPackages();
  const { version } = packages.find(({ shortName }) => shortName === 'kubelet')?.manifest ?? {};
  for (const directory of ['.', ...packages.map((each) => each.directory)]) {
    const readme = fs.readFileSync(path.join(root, directory, 'README.md'), 'utf8');
    expect(withKubeletVersion(readme, version ?? ''), `${directory}/README.md`).toBe(readme);
  }
});
