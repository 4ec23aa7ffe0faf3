import { randomBytes } from 'node:crypto';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';

/**
 * Writes the address of the page about the node into the file from which the kubelet takes the secret of the address, so
 * that the address is known before the kubelet runs. @returns the address
 */
export async function writePageAddress(kubeletRoot: string, port: number): Promise<string> {
  const address = `http://127.0.0.1:${port}/${randomBytes(24).toString('base64url')}/`;
  await mkdir(kubeletRoot, { recursive: true, mode: 0o750 });
  await writeFile(join(kubeletRoot, 'dashboard-url'), `${address}\n`, { mode: 0o600 });
  return address;
}
