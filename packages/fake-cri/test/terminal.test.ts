import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { Pipe } from '../src/process/pipe.ts';
import { Terminal } from '../src/process/terminal.ts';

const never = new AbortController().signal;

function terminal() {
  const [input, shown, signals] = [new Pipe(), [] as Uint8Array[], [] as number[]];
  const made = new Terminal({
    input,
    show: async (data) => void shown.push(data),
    signal: (signal) => void signals.push(signal),
  });
  const read = async (): Promise<string> => Buffer.from((await input.read(never)) ?? 'END').toString();
  return { made, signals, read, shown: () => Buffer.concat(shown).toString() };
}

describe('a terminal', () => {
  it('a terminal echoes input and passes it on line by line', async () => {
    const { made, read, shown } = terminal();
    await made.type(Buffer.from('ab'));
    await made.type(Buffer.from('c\rd\n'));
    expect([await read(), await read(), shown()]).toEqual(['abc\n', 'd\n', 'abc\r\nd\r\n']);
  });

  it('backspace removes only characters of the current line', async () => {
    const { made, read, shown } = terminal();
    await made.type(Buffer.from('\u007fax\u007fb\n'));
    expect([await read(), shown()]).toEqual(['ab\n', 'ax\b \bb\r\n']);
  });

  it('Ctrl-D ends the input on an empty line and passes on a partial line otherwise', async () => {
    const { made, read } = terminal();
    await made.type(Buffer.from('half\u0004'));
    expect(await read()).toBe('half');
    await made.type(Buffer.from('\u0004'));
    expect(await read()).toBe('END');
  });

  it('Ctrl-C sends SIGINT and discards the current line', async () => {
    const { made, signals, read, shown } = terminal();
    await made.type(Buffer.from('lost\u0003kept\n'));
    expect([signals, await read(), shown()]).toEqual([[2], 'kept\n', 'lost^Ckept\r\n']);
  });

  it('a terminal ends output lines with CR LF', async () => {
    const { made, shown } = terminal();
    await made.show(Buffer.from('a\nb\r\nc'));
    expect(shown()).toBe('a\r\nb\r\r\nc');
  });

  it('a terminal signals each new size once and ignores sizes with zero columns or rows', () => {
    const { made, signals } = terminal();
    expect(made.size).toEqual({ columns: 0, rows: 0 });
    for (const columns of [80, 80, 0, 100]) made.resize({ columns, rows: 24 });
    expect([made.size, signals]).toEqual([{ columns: 100, rows: 24 }, [28, 28]]);
  });
});

describe('a pipe', () => {
  test('a pipe delivers data in order regardless of the sizes of writes', async () => {
    const property = fc.asyncProperty(
      fc.array(fc.uint8Array({ maxLength: 40_000 }), { maxLength: 20 }),
      async (pieces) => {
        const pipe = new Pipe();
        const writing = (async () => {
          for (const piece of pieces) await pipe.write(piece);
          pipe.end();
        })();
        const got: Uint8Array[] = [];
        for (let piece = await pipe.read(never); piece !== undefined; piece = await pipe.read(never)) got.push(piece);
        await writing;
        expect(Buffer.concat(got).equals(Buffer.concat(pieces))).toBe(true);
      },
    );
    await fc.assert(property, { numRuns: 30 });
  });

  test('a full pipe blocks its writer until data is read or the reader closes', async () => {
    const pipe = new Pipe();
    const held: string[] = [];
    const full = new Uint8Array(64 * 1024);
    void pipe.write(full).then(() => held.push('read'));
    await Promise.resolve();
    expect(held).toEqual([]);
    await pipe.read(never);
    await Promise.resolve();
    expect(held).toEqual(['read']);
    const last = pipe.write(full);
    pipe.close();
    await last;
    expect(await pipe.read(never)).toBeUndefined();
  });

  test('aborting the signal ends a read of a pipe', async () => {
    const ending = new AbortController();
    const read = new Pipe().read(ending.signal);
    ending.abort(new Error('killed'));
    await expect(read).rejects.toThrow('killed');
  });
});
