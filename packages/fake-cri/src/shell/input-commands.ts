import type { Duplex } from 'node:stream';
import type { ShellCommand } from './builtins.ts';
import type { Shell } from './shell.ts';

/** A line of standard input. */
export interface InputLine {
  /** The line without its newline. */
  readonly text: string;
  /** True if the line ended with a newline, false if it ended with the end of input. */
  readonly isWhole: boolean;
}

/** Reads the next line and leaves the input after it unread. Returns `undefined` at the end of input. */
export async function readLine({ process }: Shell): Promise<InputLine | undefined> {
  const pieces: Uint8Array[] = [];
  for (;;) {
    const piece = await process.readInput();
    if (piece === undefined) {
      return pieces.length === 0 ? undefined : { text: Buffer.concat(pieces).toString(), isWhole: false };
    }
    const end = piece.indexOf(10);
    if (end < 0) {
      pieces.push(piece);
      continue;
    }
    process.unreadInput(piece.subarray(end + 1));
    return { text: Buffer.concat([...pieces, piece.subarray(0, end)]).toString(), isWhole: true };
  }
}

const read: ShellCommand = async (args, { shell }) => {
  const names = args.filter((arg) => arg !== '-r');
  const line = await readLine(shell);
  let rest = (line?.text ?? '').trim();
  for (const [index, name] of names.entries()) {
    const [value = ''] = index === names.length - 1 ? [rest] : rest.split(/\s/, 1);
    shell.variables.set(name, value);
    rest = rest.slice(value.length).trimStart();
  }
  return line?.isWhole === true ? 0 : 1;
};

const stty: ShellCommand = async (args, { shell, output }) => {
  const { terminal } = shell.process;
  if (terminal === undefined) {
    await output('stderr', 'stty: standard input: Inappropriate ioctl for device\n');
    return 1;
  }
  if (args[0] !== 'size') {
    await output('stderr', `stty: ${args.join(' ')}: only "size" is supported\n`);
    return 1;
  }
  await output('stdout', `${terminal.size.rows} ${terminal.size.columns}\n`);
  return 0;
};

const tty: ShellCommand = async (_args, { shell, output }) => {
  const has = shell.process.terminal !== undefined;
  await output('stdout', has ? '/dev/pts/0\n' : 'not a tty\n');
  return has ? 0 : 1;
};

/** `nc -ll -p PORT -e cat`, as in busybox: sends back to each connection the bytes received from it. */
const netcat: ShellCommand = async (args, { shell, output }) => {
  const [mode, flag, port, execute, program, ...more] = args;
  const asked = `${mode} ${flag} ${execute} ${program}`;
  if (asked !== '-ll -p -e cat' || !/^\d{1,5}$/.test(port ?? '') || more.length > 0) {
    await output('stderr', 'nc: only "nc -ll -p PORT -e cat" is supported\n');
    return 1;
  }
  try {
    shell.process.listen(Number(port), echoService);
  } catch {
    await output('stderr', 'nc: bind: Address already in use\n');
    return 1;
  }
  return shell.process.forever();
};

/** Sends received bytes back, and ends after the client has ended. */
export function echoService(connection: Duplex): void {
  connection.on('error', () => {});
  connection.pipe(connection);
}

/** The commands that read standard input, query the terminal or serve a port. */
export const inputCommands: readonly (readonly [string, ShellCommand])[] = [
  ['read', read],
  ['stty', stty],
  ['tty', tty],
  ['nc', netcat],
];
