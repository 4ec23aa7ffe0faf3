import { access, open } from 'node:fs/promises';
import { delimiter, join } from 'node:path';

/** Program that a private runtime or its caller needs. */
interface Needed extends Missing {
  /** Returns whether the program is installed. */
  readonly test: () => Promise<boolean>;
}

/** Programs that a private runtime needs, with the Debian package that contains each. */
const NEEDED: readonly Needed[] = [
  {
    what: 'containerd',
    aptPackage: 'containerd',
    test: async () => (await inPath('containerd')) && (await inPath('ctr')),
  },
  { what: 'runc', aptPackage: 'runc', test: () => inPath('runc') },
  { what: 'the CNI plugins', aptPackage: 'containernetworking-plugins', test: hasCniPlugins },
  { what: 'a static busybox', aptPackage: 'busybox-static', test: hasStaticBusybox },
  { what: 'ip', aptPackage: 'iproute2', test: () => inPath('ip') },
  { what: 'iptables', aptPackage: 'iptables', test: () => inPath('iptables') },
];

/** Program that is not installed. */
export interface Missing {
  readonly what: string;
  readonly aptPackage: string;
}

/**
 * Returns the programs that a private runtime needs and that are not installed.
 * @param further names of further programs; each name is also the name of the package
 */
export async function missingPrograms(further: readonly string[] = []): Promise<readonly Missing[]> {
  const others = further.map((name): Needed => ({ what: name, aptPackage: name, test: () => inPath(name) }));
  const needed = [...NEEDED, ...others];
  const checks = await Promise.all(needed.map(({ test }) => test()));
  return needed.filter((_, index) => checks[index] === false).map(({ what, aptPackage }) => ({ what, aptPackage }));
}

/** Returns whether a program is in one of the directories in which root searches for programs. */
export async function inPath(name: string): Promise<boolean> {
  const path = `${process.env.PATH ?? ''}${delimiter}/usr/sbin${delimiter}/usr/local/sbin${delimiter}/sbin`;
  const found = await Promise.all(
    path.split(delimiter).map((directory) => directory !== '' && exists(join(directory, name))),
  );
  return found.includes(true);
}

async function hasCniPlugins(): Promise<boolean> {
  const found = await Promise.all(
    ['/usr/lib/cni', '/opt/cni/bin', '/usr/libexec/cni'].map((directory) => exists(join(directory, 'bridge'))),
  );
  return found.includes(true);
}

async function hasStaticBusybox(): Promise<boolean> {
  let file: Awaited<ReturnType<typeof open>>;
  try {
    file = await open('/bin/busybox');
  } catch {
    return false;
  }
  try {
    const head = Buffer.alloc(4096);
    const { bytesRead } = await file.read(head, 0, head.length, 0);
    return isStaticElf(head.subarray(0, bytesRead));
  } finally {
    await file.close();
  }
}

const PT_INTERP = 3;

/**
 * Returns whether a 64-bit ELF file is statically linked, which means that it runs without a libc. @param head
 * beginning of the file
 */
export function isStaticElf(head: Buffer): boolean {
  if (head.length < 64 || head.toString('latin1', 0, 4) !== '\x7fELF' || head[4] !== 2 || head[5] !== 1) return false;
  const tableAt = Number(head.readBigUInt64LE(0x20));
  const entrySize = head.readUInt16LE(0x36);
  const entries = head.readUInt16LE(0x38);
  if (tableAt + entries * entrySize > head.length) return false;
  for (let index = 0; index < entries; index++) {
    if (head.readUInt32LE(tableAt + index * entrySize) === PT_INTERP) return false;
  }
  return true;
}

function exists(path: string): Promise<boolean> {
  return access(path).then(
    () => true,
    () => false,
  );
}
