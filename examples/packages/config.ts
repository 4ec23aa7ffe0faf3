// From packages/config/README.md, which explains the program.
import { formatIssue, formatOrigin, loadKubeletConfig, type ConfigReader } from '@node-agent/config';

const files = new Map([
  [
    '/etc/kubelet/config.yaml',
    'apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\nmaxPods: 50\ncgroupDriver: systemd\n',
  ],
]);
// The FileSystem of @node-agent/host fits here, too.
const fs: ConfigReader = {
  readFile: async (path) => new TextEncoder().encode(files.get(path) ?? ''),
  readdir: async () => [],
};

const { configuration, origins, warnings } = await loadKubeletConfig({
  argv: ['--config', '/etc/kubelet/config.yaml', '--sync-frequency=90s'],
  fs,
  workingDirectory: '/',
});
console.log(configuration.maxPods, 'from', formatOrigin(origins.of('maxPods'))); // 50 from /etc/kubelet/config.yaml:3:10
console.log(configuration.syncFrequencyMs, 'from', formatOrigin(origins.of('syncFrequency'))); // 90000 from --sync-frequency
for (const warning of warnings) console.log(formatIssue(warning));
