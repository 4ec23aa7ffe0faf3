import { pino } from 'pino';
import { describe, expect, test } from 'vitest';
import { captureLogger } from '../src/capture-logger.ts';
import { createLogger } from '../src/create-logger.ts';
import { fanOutEvents, LoggingEventRecorder, MemoryEventRecorder } from '../src/event-recorders.ts';
import { jsonLogger } from '../src/json-logger.ts';
import { LogLevelSwitch, levelOfVerbosity } from '../src/log-level.ts';

async function capturedLogger(level: 'debug' | 'info') {
  const lines: string[] = [];
  const logger = await createLogger({
    format: 'json',
    level,
    now: () => 1580306777048.125,
    write: (line) => void lines.push(line),
  });
  return { logger, parsed: () => lines.map((line) => JSON.parse(line)) };
}

describe('the logger', () => {
  test('the logger writes one JSON object per line, with the fields of its parents', async () => {
    const { logger, parsed } = await capturedLogger('info');
    logger.child({ component: 'pleg' }).warn({ podUid: 'u1' }, 'Relist failed');
    expect(parsed()).toEqual([
      {
        ...{
          level: 'warn',
          v: 0,
          ts: 1580306777048.125,
          caller: expect.stringMatching(/^logger-and-events\.test\.ts:\d+$/),
        },
        ...{ logger: 'pleg', podUid: 'u1', msg: 'Relist failed' },
      },
    ]);
  });

  test.each(['text', 'json'] as const)(
    'a logger of the format %s and its children follow a level that changes',
    async (format) => {
      const lines: string[] = [];
      const level = new LogLevelSwitch('info');
      const logger = await createLogger({ format, level, now: () => 0, write: (line) => void lines.push(line) });
      const child = logger.child({ component: 'x' });
      const write = (word: string): void => {
        child.debug({ password: 'hidden' }, word);
        logger.trace({}, word);
      };
      write('too much');
      level.level = 'debug';
      write('enough');
      level.level = 'error';
      write('too much again');
      expect(lines).toHaveLength(1);
      expect(lines[0]).toMatch(/"enough".*x|x.*"enough"/);
      expect(lines[0]).not.toContain('hidden');
    },
  );

  test("each log line has upstream's verbosity for its level, and an error has none", () => {
    const lines: string[] = [];
    const logger = jsonLogger({ pino, level: 'trace', now: () => 0, write: (line) => void lines.push(line) });
    for (const level of ['trace', 'debug', 'info', 'warn', 'error'] as const) logger[level]({}, 'x');
    expect(lines.map((line) => JSON.parse(line)).map(({ level, v }) => [level, v])).toEqual([
      ['trace', 5],
      ['debug', 4],
      ['info', 0],
      ['warn', 0],
      ['error', undefined],
    ]);
  });

  test('the logger omits lines below its level', async () => {
    const { logger, parsed } = await capturedLogger('info');
    logger.debug({}, 'quiet');
    expect(parsed()).toEqual([]);
  });

  test('the logger writes an error with its message', async () => {
    const { logger, parsed } = await capturedLogger('info');
    logger.error({ err: new Error('boom') }, 'Failed');
    expect(parsed()[0]).toMatchObject({ level: 'error', err: 'boom', errVerbose: { type: 'Error', message: 'boom' } });
    expect(parsed()[0]).not.toHaveProperty('v');
  });

  test('the logger writes the text of an error and its cause once, and further properties of the error', async () => {
    const { logger, parsed } = await capturedLogger('info');
    const cause = Object.assign(new Error('EACCES'), { code: 'EACCES' });
    const told = Object.assign(new TypeError('cannot read: EACCES', { cause }), { file: '/x' });
    logger.error({ err: told }, 'Failed');
    logger.error({ err: new Error('cannot read', { cause }) }, 'Failed');
    logger.error({ err: new AggregateError([told, 'odd'], 'two failed') }, 'Failed');
    logger.error({ err: 'no error at all' }, 'Failed');
    const [first, second, third] = parsed().map(({ errVerbose }) => errVerbose);
    const [one, two, , fourth] = parsed().map(({ err }) => err);
    expect([one, two]).toEqual(['cannot read: EACCES', 'cannot read: EACCES']);
    expect(first).toEqual({
      type: 'TypeError',
      message: 'cannot read: EACCES',
      file: '/x',
    });
    expect(JSON.stringify(parsed())).not.toContain('"stack"');
    expect(second.cause).toMatchObject({ type: 'Error', message: 'EACCES', code: 'EACCES' });
    expect(third.errors).toEqual([expect.objectContaining({ message: 'cannot read: EACCES' }), 'odd']);
    expect(fourth).toBe('no error at all');
  });

  test('the logger writes stacks of errors only at level debug, even if the level changes', async () => {
    const lines: string[] = [];
    const level = new LogLevelSwitch('info');
    const write = (line: string): void => void lines.push(line);
    const logger = await createLogger({ format: 'json', level, now: () => 0, write });
    const err = new Error('cannot read', { cause: new Error('EACCES') });
    logger.error({ err }, 'Failed');
    level.level = 'debug';
    logger.error({ err }, 'Failed');
    expect(lines.map((line) => line.split('"stack"').length - 1)).toEqual([0, 2]);
  });

  test('the logger writes an error that is its own cause', async () => {
    const { logger, parsed } = await capturedLogger('info');
    const outer = new Error('a');
    const inner = new Error('b', { cause: outer });
    outer.cause = inner;
    logger.error({ err: outer }, 'Failed');
    expect(JSON.stringify(parsed()[0].errVerbose).match(/"message"/g)).toHaveLength(5);
  });

  test('W4: the logger writes no secret', async () => {
    const { logger, parsed } = await capturedLogger('info');
    logger.info({ token: 's3cret', headers: { authorization: 's3cret' }, auth: { password: 's3cret' } }, 'Request');
    expect(JSON.stringify(parsed())).not.toContain('s3cret');
  });

  test.each([
    [0, 'info'],
    [1, 'info'],
    [2, 'debug'],
    [4, 'debug'],
    [5, 'trace'],
  ])('verbosity %d means the level %s', (verbosity, level) => {
    expect(levelOfVerbosity(verbosity)).toBe(level);
  });
});

test("captureLogger keeps level, fields and parents' fields of each line", () => {
  const { logger, lines } = captureLogger();
  const child = logger.child({ component: 'a' });
  for (const level of ['trace', 'debug', 'info', 'warn', 'error'] as const) {
    child[level]({ n: 1 }, level);
    expect(lines.at(-1)).toEqual({ level, fields: { component: 'a', n: 1 }, message: level });
  }
});

describe('recorded events', () => {
  const pod = { kind: 'Pod', namespace: 'default', name: 'web', uid: 'u1' };

  test('a repeated event only raises its count, and moves to the end of the list', () => {
    let now = 1;
    const recorder = new MemoryEventRecorder(() => now);
    recorder.event(pod, 'Normal', 'Pulled', 'there');
    now = 2;
    recorder.event(pod, 'Warning', 'BackOff', 'again');
    now = 3;
    recorder.event(pod, 'Normal', 'Pulled', 'there');
    expect(
      recorder.eventsOf(pod).map(({ reason, count, firstAtMs, lastAtMs }) => [reason, count, firstAtMs, lastAtMs]),
    ).toEqual([
      ['BackOff', 1, 2, 2],
      ['Pulled', 2, 1, 3],
    ]);
  });

  test("an event about a container belongs to the container's pod", () => {
    const recorder = new MemoryEventRecorder(() => 0);
    recorder.event({ ...pod, fieldPath: 'spec.containers{main}' }, 'Normal', 'Started', 'x');
    expect(recorder.eventsOf(pod)).toHaveLength(1);
  });

  test('all() returns the events of every object', () => {
    const recorder = new MemoryEventRecorder(() => 0);
    recorder.event(pod, 'Normal', 'Pulled', 'a');
    recorder.event({ kind: 'Node', name: 'n1' }, 'Normal', 'Starting', 'b');
    expect(recorder.all().map(({ object, reason }) => [object.kind, reason])).toEqual([
      ['Pod', 'Pulled'],
      ['Node', 'Starting'],
    ]);
  });

  test('K4: MemoryEventRecorder keeps no more events than its limit, and none of objects that were forgotten', () => {
    const recorder = new MemoryEventRecorder(() => 0, 3);
    for (let n = 0; n < 10; n++) recorder.event(pod, 'Normal', 'R', `message ${n}`);
    expect(recorder.eventsOf(pod).map(({ message }) => message)).toEqual(['message 7', 'message 8', 'message 9']);
    recorder.retain(() => false);
    expect(recorder.eventsOf(pod)).toEqual([]);
  });

  test('an event can be logged, and passed to several recorders', () => {
    const { logger, lines } = captureLogger();
    const memory = new MemoryEventRecorder(() => 0);
    fanOutEvents([memory, new LoggingEventRecorder(logger)]).event(pod, 'Normal', 'Started', 'up');
    expect(lines).toEqual([
      {
        level: 'info',
        fields: {
          ...{ object: 'default/web', fieldPath: '', kind: 'Pod', apiVersion: '' },
          ...{ type: 'Normal', reason: 'Started', message: 'up', uid: 'u1' },
        },
        message: 'Event occurred',
      },
    ]);
    expect(memory.eventsOf(pod)).toHaveLength(1);
    new LoggingEventRecorder(logger, 'debug').event(pod, 'Normal', 'Started', 'up');
    expect(lines.at(-1)).toMatchObject({ level: 'debug', message: 'Event occurred' });
  });
});
