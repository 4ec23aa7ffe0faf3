import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { commandStatus, failedCommand } from '../src/streams/command-status.ts';
import { TerminalSizes } from '../src/streams/terminal-sizes.ts';

/** Returns the status of an internal error in Go's exact encoding, for clients that compare bytes. */
function internal(words: string): string {
  const message = JSON.stringify(`Internal error occurred: ${words}`);
  const cause = JSON.stringify(words);
  return `{"metadata":{},"status":"Failure","message":${message},"reason":"InternalError","details":{"causes":[{"message":${cause}}]},"code":500}`;
}

const SUCCESS = '{"metadata":{},"status":"Success"}';
const exited = (details: unknown) => JSON.stringify({ status: 'Failure', reason: 'NonZeroExitCode', details });
const exitCause = (message: unknown) => exited({ causes: [{ reason: 'Other' }, { reason: 'ExitCode', message }] });
const nonsense = (fault: string) => internal(`error stream protocol error: ${fault}`);
const exitStatus = (code: number) =>
  `{"metadata":{},"status":"Failure","message":"command terminated with non-zero exit code: command terminated with exit code ${code}","reason":"NonZeroExitCode","details":{"causes":[{"reason":"ExitCode","message":"${code}"}]}}`;

it('the error for an invalid status quotes only its beginning', () => {
  const { message = '' } = commandStatus('v4.channel.k8s.io', `{${'x'.repeat(2000)}`);
  expect(message).toMatch(/^Internal error occurred: error stream protocol error: (?!SyntaxError)/);
  expect(message.endsWith(` in "{${'x'.repeat(1023)}"`)).toBe(true);
});

describe('the exit status of a command', () => {
  it.each<[string, string, string]>([
    ['of success', '{"metadata":{},"status":"Success"}', SUCCESS],
    ['of an exit code', exitCause('7'), exitStatus(7)],
    ['of the largest exit code', exitCause('255'), exitStatus(255)],
    ['of a failure', '{"status":"Failure","message":"no such container","code":500}', internal('no such container')],
    ['of a failure without a message', '{"status":"Failure"}', internal('')],
    ['that is empty', '', internal('error reading from error stream: the runtime ended the connection')],
    ['of an exit code above 255', exitCause('256'), nonsense('invalid exit code value "256"')],
    ['of an exit code in words', exitCause('seven'), nonsense('invalid exit code value "seven"')],
    ['of a negative exit code', exitCause('-1'), nonsense('invalid exit code value "-1"')],
    ['with an ExitCode cause without a message', exitCause(undefined), nonsense('invalid exit code value ""')],
    ['without an ExitCode cause', exited({ causes: [{ reason: 'Other' }] }), nonsense('no ExitCode cause given')],
    ['without causes', exited({}), nonsense('no ExitCode cause given')],
    ['with causes of another kind', exited({ causes: [null, 'x', 7] }), nonsense('no ExitCode cause given')],
    ['without details', exited(undefined), nonsense('details must be set')],
    ['with an unknown status', '{"status":"Maybe"}', nonsense('unknown error')],
    ['that is a JSON array', '[1]', nonsense('unknown error')],
    ['that is null', 'null', nonsense('unknown error')],
  ])('for a v4 or v5 command status %s, the client gets $2', (_name, said, expected) => {
    expect(JSON.stringify(commandStatus('v4.channel.k8s.io', said))).toBe(expected);
    expect(JSON.stringify(commandStatus('v5.channel.k8s.io', said))).toBe(expected);
  });

  it('a command status that is not JSON yields no exit code, and the error quotes its beginning', () => {
    const { message = '' } = commandStatus('v4.channel.k8s.io', 'command terminated'.repeat(10_000));
    expect(message).toMatch(/^Internal error occurred: error stream protocol error: .* in "command terminated/);
    expect(message.length).toBeLessThan(2000);
  });

  it.each(['v2.channel.k8s.io', 'v3.channel.k8s.io'])(
    'with protocol %s an empty status means success, and any text is the error message',
    (protocol) => {
      expect(JSON.stringify(commandStatus(protocol, ''))).toBe(SUCCESS);
      const words = 'error executing remote command: exit code 3';
      expect(commandStatus(protocol, 'exit code 3')).toEqual(failedCommand(words));
    },
  );

  it('W3: any status bytes yield a result', () => {
    const status = fc.record(
      {
        status: fc.constantFrom('Success', 'Failure', 7),
        reason: fc.constantFrom('NonZeroExitCode', null),
        details: fc.jsonValue(),
      },
      { requiredKeys: ['status'] },
    );
    const property = fc.property(
      fc.oneof(
        fc.string(),
        fc.json(),
        status.map((each) => JSON.stringify(each)),
      ),
      (said) => {
        const told = commandStatus('v4.channel.k8s.io', said);
        expect(told.status === 'Success').toBe(
          /"status":"Success"/.test(said) && JSON.parse(said).status === 'Success',
        );
      },
    );
    fc.assert(property);
  });
});

describe('terminal sizes', () => {
  const read = (...pieces: readonly string[]): readonly string[] => {
    const sizes = new TerminalSizes();
    return pieces.flatMap((piece) => sizes.read(Buffer.from(piece)) ?? []);
  };

  it.each<[string, readonly string[], readonly string[]]>([
    ['whole', ['{"Width":80,"Height":24}\n'], ['{"Width":80,"Height":24}\n']],
    ['in pieces', ['{"Wid', 'th":80,"Height"', ':24}'], ['{"Width":80,"Height":24}\n']],
    [
      'twice',
      ['{"Width":1,"Height":2}{"Width":3,', '"Height":4}\n\n'],
      ['{"Width":1,"Height":2}\n', '{"Width":3,"Height":4}\n'],
    ],
    ['with lower-case field names', ['{"height":24,"width":80,"pixels":"many"}'], ['{"Width":80,"Height":24}\n']],
    ['with missing fields', ['{"Width":80}', '{}'], ['{"Width":80,"Height":0}\n', '{"Width":0,"Height":0}\n']],
    ['too large', ['{"Width":65536,"Height":1}', '{"Width":80,"Height":24}'], []],
    ['below zero', ['{"Width":-1,"Height":1}', '{"Width":80,"Height":24}'], []],
    ['as fractions', ['{"Width":1.5,"Height":1}'], []],
    ['as strings', ['{"Width":"80","Height":"24"}'], []],
    ['in an array', ['[{"Width":80,"Height":24}]'], []],
    ['as invalid JSON', ['so wide}', '{"Width":80,"Height":24}'], []],
    [
      'as valid and then as invalid JSON',
      ['{"Width":80,"Height":24}x}{"Width":1,"Height":1}'],
      ['{"Width":80,"Height":24}\n'],
    ],
    ['without a closing brace', ['{'.repeat(5000), '{"Width":80,"Height":24}'], []],
  ])('terminal sizes that are sent %s, as %j, are read as %j', (_name, pieces, expected) => {
    expect(read(...pieces)).toEqual(expected);
  });

  it('W3: concatenated terminal sizes are parsed, and an oversized piece ends the stream', () => {
    expect(read('{}'.repeat(2000))).toEqual(['{"Width":0,"Height":0}\n']);
    expect(read('{"Width":1,"Height":1}', '{}'.repeat(3000), '{"Width":2,"Height":2}')).toEqual([
      '{"Width":1,"Height":1}\n',
    ]);
  });

  it('reading terminal sizes returns the last complete size, however the bytes are split', () => {
    const size = fc
      .record({ Width: fc.nat(65_535), Height: fc.nat(65_535) })
      .map((each) => `${JSON.stringify(each)}\n`);
    const property = fc.property(fc.array(size, { maxLength: 8 }), fc.array(fc.nat(300)), (sizes, cuts) => {
      const text = sizes.join('');
      const at = [0, ...cuts.map((cut) => Math.min(cut, text.length)).sort((a, b) => a - b), text.length];
      const told = read(...at.slice(1).map((end, index) => text.slice(at[index], end)));
      expect(told.at(-1)).toBe(sizes.at(-1));
      expect(sizes).toEqual(expect.arrayContaining([...told]));
    });
    fc.assert(property);
  });
});
