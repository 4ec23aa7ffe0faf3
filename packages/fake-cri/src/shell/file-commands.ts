import type { ShellCommand } from './builtins.ts';

const cat: ShellCommand = async (args, { shell, output }) => {
  let status = 0;
  for (const path of args.length === 0 ? ['-'] : args) {
    if (path === '-') {
      for (let data = await shell.process.readInput(); data !== undefined; data = await shell.process.readInput()) {
        await output('stdout', data);
      }
      continue;
    }
    try {
      await output('stdout', await shell.process.files.read(shell.resolve(path)));
    } catch (error) {
      await output('stderr', complaint('cat', path, error));
      status = 1;
    }
  }
  return status;
};

const touch: ShellCommand = async (args, { shell, output }) => {
  for (const path of args) {
    try {
      await shell.process.files.write(shell.resolve(path), new Uint8Array(), true);
    } catch (error) {
      await output('stderr', complaint('touch', path, error));
      return 1;
    }
  }
  return 0;
};

const mkdir: ShellCommand = async (args, { shell, output }) => {
  for (const path of args.filter((arg) => arg !== '-p')) {
    try {
      await shell.process.files.makeDirectory(shell.resolve(path));
    } catch (error) {
      await output('stderr', complaint('mkdir', path, error));
      return 1;
    }
  }
  return 0;
};

const rm: ShellCommand = async (args, { shell, output }) => {
  const force = args.includes('-f');
  for (const path of args.filter((arg) => arg !== '-f')) {
    try {
      await shell.process.files.remove(shell.resolve(path));
    } catch (error) {
      if (force && isAbsent(error)) continue;
      await output('stderr', complaint('rm', path, error));
      return 1;
    }
  }
  return 0;
};

const ls: ShellCommand = async (args, { shell, output }) => {
  const path = args[0] ?? '.';
  try {
    const names = await shell.process.files.list(shell.resolve(path));
    await output('stdout', names.map((name) => `${name}\n`).join(''));
    return 0;
  } catch (error) {
    await output('stderr', complaint('ls', path, error));
    return 1;
  }
};

const cd: ShellCommand = async (args, { shell, output }) => {
  const path = shell.resolve(args[0] ?? '/');
  if ((await shell.process.files.kind(path)) !== 'directory') {
    await output('stderr', `sh: cd: can't cd to ${args[0]}: No such file or directory\n`);
    return 2;
  }
  shell.workingDir = path;
  return 0;
};

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'ENOENT';
}

function complaint(command: string, path: string, error: unknown): string {
  if (!(error instanceof Error) || !('code' in error)) throw error;
  const words = isAbsent(error) ? `can't open '${path}': No such file or directory` : `${path}: ${error.message}`;
  return `${command}: ${words}\n`;
}

/** The commands that read and write the container's files. */
export const fileCommands: readonly (readonly [string, ShellCommand])[] = [
  ['cat', cat],
  ['touch', touch],
  ['mkdir', mkdir],
  ['rm', rm],
  ['ls', ls],
  ['cd', cd],
];
