import fs from 'node:fs';
import path from 'node:path';
import { gzipSync } from 'node:zlib';
import { completionScript } from '@node-agent/config';
import { root } from '../workspace.ts';
import type { DebianContent, PackagedFile } from './debian-package.ts';

/** Names of the links to the single executable file. */
export const LINKS: readonly string[] = ['nodectl', 'kubectl-why'];

const FILES = path.join(import.meta.dirname, '../../files');
const DOCUMENTS = '/usr/share/doc/node-agent';

/** Values that differ between builds of the package. */
export interface NodeAgentPackage {
  readonly version: string;
  readonly architecture: string;
  readonly program: Uint8Array;
  readonly copyright: string;
  /** Time of all files, in seconds since 1970. */
  readonly seconds: number;
}

/** Returns the content of the Debian package `node-agent`. */
export function nodeAgentPackage({
  version,
  architecture,
  program,
  copyright,
  seconds,
}: NodeAgentPackage): DebianContent {
  const own = (name: string): string => fs.readFileSync(path.join(FILES, name), 'utf8');
  const document = (name: string, file: string): PackagedFile => ({
    path: `${DOCUMENTS}/${name}.gz`,
    content: gzipSync(fs.readFileSync(path.join(root, file)), { level: 9 }),
  });
  const links = LINKS.map((name) => [`/usr/bin/${name}`, 'kubelet'] as const);
  return {
    control: {
      Package: 'node-agent',
      Version: version,
      Architecture: architecture,
      Maintainer: 'node-agent maintainers <maintainers@node-agent.example>',
      Section: 'admin',
      Priority: 'optional',
      // Node.js needs its own libraries. The kubelet needs flock, mount, losetup, systemd-notify and
      // deb-systemd-helper.
      Depends: 'libc6 (>= 2.28), libgcc-s1, libstdc++6 (>= 7), util-linux, mount, init-system-helpers',
      Recommends: 'systemd, containerd | cri-o, containernetworking-plugins, e2fsprogs',
      Suggests: 'nfs-common, open-iscsi, xfsprogs',
      Provides: 'kubelet',
      Conflicts: 'kubelet',
      Replaces: 'kubelet',
      Homepage: 'https://github.com/node-agent/node-agent',
      Description:
        'Kubernetes node agent (kubelet) with Node.js inside\n Runs pods on this machine, from an API server or from manifests. Contains the\n programs kubelet, nodectl and kubectl-why as one file.',
    },
    scripts: Object.fromEntries(['postinst', 'prerm', 'postrm'].map((name) => [name, own(name)])),
    files: [
      { path: '/usr/bin/kubelet', content: program, mode: 0o755 },
      { path: '/usr/lib/systemd/system/kubelet.service', content: own('kubelet.service') },
      { path: '/etc/kubernetes/kubelet.yaml', content: own('kubelet.yaml'), isConfiguration: true },
      { path: '/etc/default/kubelet', content: own('default'), isConfiguration: true },
      { path: '/usr/share/bash-completion/completions/kubelet', content: completionScript('bash') },
      { path: '/usr/share/zsh/vendor-completions/_kubelet', content: completionScript('zsh') },
      { path: '/usr/share/fish/vendor_completions.d/kubelet.fish', content: completionScript('fish') },
      { path: `${DOCUMENTS}/copyright`, content: copyright },
      document('changelog', 'apps/kubelet/CHANGELOG.md'),
      document('configuration.md', 'docs/reference/configuration.md'),
      document('operations.md', 'docs/operations.md'),
    ],
    links: Object.fromEntries(links),
    directories: ['/etc/kubernetes/manifests'],
    seconds,
  };
}
