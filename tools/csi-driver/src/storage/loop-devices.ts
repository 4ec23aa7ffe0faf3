import { run } from './commands.ts';

/** Returns the loop device of an image; `undefined` if there is none. */
export async function loopDeviceOf(image: string): Promise<string | undefined> {
  const listed = await run('losetup', '--noheadings', '--output', 'NAME', '--associated', image);
  return listed.split('\n').map((line) => line.trim())[0] || undefined;
}

/** Returns the loop device of an image, and creates it if needed. */
export async function attachLoopDevice(image: string): Promise<string> {
  return (await loopDeviceOf(image)) ?? (await run('losetup', '--find', '--show', image)).trim();
}

/** Removes the loop device of an image, if there is one. */
export async function detachLoopDevice(image: string): Promise<void> {
  const device = await loopDeviceOf(image);
  if (device !== undefined) await run('losetup', '--detach', device);
}

/** Makes the loop device of an image, if there is one, as large as the image. */
export async function resizeLoopDevice(image: string): Promise<void> {
  const device = await loopDeviceOf(image);
  if (device !== undefined) await run('losetup', '--set-capacity', device);
}
