import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

/** Loop device with its file and settings. */
export interface LoopFile {
  readonly file: string;
  readonly settings: string;
}

const SETTINGS = ['ro', 'loop/autoclear', 'loop/offset', 'loop/sizelimit', 'loop/partscan', 'loop/dio'];

/** Returns the loop devices whose files are below a directory. */
export async function loopFilesBelow(directory: string, sysBlock = '/sys/block'): Promise<readonly LoopFile[]> {
  const found: LoopFile[] = [];
  for (const name of await readdir(sysBlock)) {
    if (!name.startsWith('loop')) continue;
    const read = (setting: string): Promise<string> =>
      readFile(join(sysBlock, name, setting), 'utf8').then(
        (text) => text.trim(),
        () => '',
      );
    const file = await read('loop/backing_file');
    if (!file.startsWith(`${directory}/`)) continue;
    const settings = await Promise.all(
      SETTINGS.map(async (setting) => `${setting.replace('loop/', '')}=${await read(setting)}`),
    );
    found.push({ file, settings: settings.join(' ') });
  }
  return found;
}
