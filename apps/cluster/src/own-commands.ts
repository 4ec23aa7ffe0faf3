import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Returns the command that starts this program again with arguments. */
export function ownCommand(argv: readonly string[]): readonly string[] {
  return [process.execPath, ...process.execArgv, process.argv[1] ?? '', ...argv];
}

/**
 * Returns the command that starts the kubelet: the program of package `@node-agent/kubelet`. The program is executed
 * directly, because its first line sets the flags of Node.js that keep memory use small.
 */
export function kubeletCommand(): readonly string[] {
  const manifest = import.meta.resolve('@node-agent/kubelet/package.json');
  const { bin } = JSON.parse(readFileSync(fileURLToPath(manifest), 'utf8'));
  return [fileURLToPath(new URL(bin.kubelet, manifest))];
}
