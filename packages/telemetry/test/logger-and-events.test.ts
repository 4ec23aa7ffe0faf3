import { describe, expect, test } from 'vitest';
import { captureLogger } from '../src/capture-logger.ts';
import { fanOutEvents, LoggingEventRecorder, MemoryEventRecorder } from '../src/event-recorders.ts';
import { createLogger, levelOfVerbosity } from '../src/pino-logger.ts';

function jsonLogger(level: 'debug' | 'info') {
  const lines: string[] = [];
  const logger = createLogger({ level, now: () => 0, write: (line) => void lines.push(line) });
  return { logger, parsed: () => lines.map((line) => JSON.parse(line)) };
}

describe('the logger', () => {
  test('writes one JSON object a line, with the fields of its parents', () => {
    const { logger, parsed } = jsonLogger('info');
    logger.child({ component: 'pleg' }).warn({ podUid: 'u1' }, 'Relist failed');
    expect(parsed()).toEqual([
      { level: 'warn', time: '1970-01-01T00:00:00.000Z', component: 'pleg', podUid: 'u1', msg: 'Relist failed' },
    ]);
  });

  test('leaves out what is below its level', () => {
    const { logger, parsed } = jsonLogger('info');
    logger.debug({}, 'quiet');
    expect(parsed()).toEqual([]);
  });

  test('writes an error with its message', () => {
    const { logger, parsed } = jsonLogger('info');
    logger.error({ err: new Error('boom') }, 'Failed');
    expect(parsed()[0].err).toMatchObject({ type: 'Error', message: 'boom' });
  });

  test('says once what an error and its cause say, and what else the error carries', () => {
    const { logger, parsed } = jsonLogger('info');
    const cause = Object.assign(new Error('EACCES'), { code: 'EACCES' });
    const told = Object.assign(new TypeError('cannot read: EACCES', { cause }), { file: '/x' });
    logger.error({ err: told }, 'Failed');
    logger.error({ err: new Error('cannot read', { cause }) }, 'Failed');
    logger.error({ err: new AggregateError([told, 'odd'], 'two failed') }, 'Failed');
    logger.error({ err: 'no error at all' }, 'Failed');
    const [first, second, third, fourth] = parsed().map(({ err }) => err);
    expect(first).toEqual({
      type: 'TypeError',
      message: 'cannot read: EACCES',
      file: '/x',
      stack: expect.stringMatching(/^TypeError: cannot read: EACCES\n/),
    });
    expect(second.cause).toMatchObject({ type: 'Error', message: 'EACCES', code: 'EACCES' });
    expect(third.errors).toEqual([expect.objectContaining({ message: 'cannot read: EACCES' }), 'odd']);
    expect(fourth).toBe('no error at all');
  });

  test('writes an error that is its own cause', () => {
    const { logger, parsed } = jsonLogger('info');
    const outer = new Error('a');
    const inner = new Error('b', { cause: outer });
    outer.cause = inner;
    logger.error({ err: outer }, 'Failed');
    expect(JSON.stringify(parsed()[0].err).match(/"message"/g)).toHaveLength(5);
  });

  test('W4: never writes a secret', () => {
    const { logger, parsed } = jsonLogger('info');
    logger.info({ token: 's3cret', headers: { authorization: 's3cret' }, auth: { password: 's3cret' } }, 'Request');
    expect(JSON.stringify(parsed())).not.toContain('s3cret');
  });

  test.each([
    [0, 'info'],
    [1, 'info'],
    [2, 'debug'],
    [4, 'debug'],
    [5, 'trace'],
  ])('verbosity %d is %s', (verbosity, level) => {
    expect(levelOfVerbosity(verbosity)).toBe(level);
  });
});

describe('events', () => {
  const pod = { kind: 'Pod', namespace: 'default', name: 'web', uid: 'u1' };

  test('the same again only counts, and moves to the end', () => {
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

  test('events of a container are its pod’s', () => {
    const recorder = new MemoryEventRecorder(() => 0);
    recorder.event({ ...pod, fieldPath: 'spec.containers{main}' }, 'Normal', 'Started', 'x');
    expect(recorder.eventsOf(pod)).toHaveLength(1);
  });

  test('K4: no more are kept than was said, and none of objects that are gone', () => {
    const recorder = new MemoryEventRecorder(() => 0, 3);
    for (let n = 0; n < 10; n++) recorder.event(pod, 'Normal', 'R', `message ${n}`);
    expect(recorder.eventsOf(pod).map(({ message }) => message)).toEqual(['message 7', 'message 8', 'message 9']);
    recorder.retain(() => false);
    expect(recorder.eventsOf(pod)).toEqual([]);
  });

  test('they can be logged, and told to several', () => {
    const { logger, lines } = captureLogger();
    const memory = new MemoryEventRecorder(() => 0);
    fanOutEvents([memory, new LoggingEventRecorder(logger)]).event(pod, 'Normal', 'Started', 'up');
    expect(lines).toEqual([
      {
        level: 'info',
        fields: { object: pod, type: 'Normal', reason: 'Started', message: 'up' },
        message: 'Event occurred',
      },
    ]);
    expect(memory.eventsOf(pod)).toHaveLength(1);
    new LoggingEventRecorder(logger, 'debug').event(pod, 'Normal', 'Started', 'up');
    expect(lines.at(-1)).toMatchObject({ level: 'debug', message: 'Event occurred' });
  });
});
