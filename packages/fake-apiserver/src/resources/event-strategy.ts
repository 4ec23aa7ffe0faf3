import type { FieldError } from '@node-agent/pod-spec';
import { fieldError } from '../core/failure.ts';
import { at, isObject, type JsonObject, numberAt, same, textAt } from '../core/json.ts';
import type { Strategy } from './definition.ts';

/** Fields of `events.k8s.io/v1` that have other names in `v1`, the stored form of events. */
const RENAMED: Readonly<Record<string, string>> = {
  regarding: 'involvedObject',
  note: 'message',
  deprecatedSource: 'source',
  deprecatedFirstTimestamp: 'firstTimestamp',
  deprecatedLastTimestamp: 'lastTimestamp',
  deprecatedCount: 'count',
  reportingController: 'reportingComponent',
};
const RENAMED_BACK: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries(RENAMED).map(([name, stored]) => [stored, name]),
);

function renamed(object: JsonObject, names: Readonly<Record<string, string>>, apiVersion: string): JsonObject {
  const fields = Object.entries(object).map(([key, value]) => [Object.hasOwn(names, key) ? names[key] : key, value]);
  return { ...Object.fromEntries(fields), apiVersion };
}

/** Rules of `v1` events (`pkg/apis/core/validation/events.go`). */
export const coreEventStrategy: Strategy = {
  setDefaults(event) {
    for (const name of ['involvedObject', 'source']) if (!isObject(event[name])) event[name] = {};
    for (const name of ['eventTime', 'firstTimestamp', 'lastTimestamp']) event[name] ??= null;
    for (const name of ['reportingComponent', 'reportingInstance']) event[name] ??= '';
  },
  validate: (event) => legacyProblems(event, 'reportingComponent'),
};

/** Rules of `events.k8s.io/v1` events, which are stored as `v1` events. */
export const eventStrategy: Strategy = {
  ...coreEventStrategy,
  toStored: (event) => renamed(event, RENAMED, 'v1'),
  fromStored(event) {
    // `events.k8s.io/v1` omits empty fields.
    const full = ([key, value]: [string, unknown]): boolean =>
      value !== '' || (key !== 'reportingComponent' && key !== 'reportingInstance');
    return renamed(Object.fromEntries(Object.entries(event).filter(full)), RENAMED_BACK, 'events.k8s.io/v1');
  },
  *validate(event) {
    yield* legacyProblems(event, 'reportingController');
    yield* seriesProblems(event);
  },
  *validateUpdate(event, old) {
    for (const name of [
      'involvedObject',
      'reason',
      'message',
      'source',
      'firstTimestamp',
      'lastTimestamp',
      'count',
      'type',
    ]) {
      if (!same(event[name], old[name]))
        yield fieldError('Invalid value', name, 'field is immutable', String(event[name]));
    }
    if (!same(event.series, old.series)) yield* seriesProblems(event);
  },
  prepareCreate(event) {
    // A missing time is `null`, as Go serializes it. Only `newEventProblems` requires a time, because an update may
    // concern an event that an older client created.
    if (!event.eventTime) event.eventTime = null;
  },
};

/** Additional validation of a new event in `events.k8s.io/v1`. */
export function* newEventProblems(event: JsonObject): Generator<FieldError> {
  if (!event.eventTime) yield fieldError('Required value', 'eventTime');
  const type = textAt(event, 'type');
  if (type !== 'Normal' && type !== 'Warning') {
    yield fieldError('Invalid value', 'type', `has invalid value: ${type}`, '');
  }
  for (const name of ['firstTimestamp', 'lastTimestamp', 'count']) {
    if (event[name]) yield fieldError('Invalid value', name, 'needs to be unset', '');
  }
  if (textAt(event, 'source', 'component') || textAt(event, 'source', 'host')) {
    yield fieldError('Invalid value', 'source', 'needs to be unset', '');
  }
}

function* seriesProblems(event: JsonObject): Generator<FieldError> {
  if (!isObject(event.series)) return;
  if ((numberAt(event, 'series', 'count') ?? 0) < 2) {
    yield fieldError('Invalid value', 'series.count', 'should be at least 2', '');
  }
  if (!at(event, 'series', 'lastObservedTime')) yield fieldError('Required value', 'series.lastObservedTime');
}

const MAX_LENGTHS: Readonly<Record<string, number>> = {
  reportingInstance: 128,
  action: 128,
  reason: 128,
  message: 1024,
};

function* legacyProblems(event: JsonObject, controllerField: string): Generator<FieldError> {
  const namespace = textAt(event, 'metadata', 'namespace');
  const about = textAt(event, 'involvedObject', 'namespace');
  const mismatch = fieldError('Invalid value', 'involvedObject.namespace', 'does not match event.namespace', about);
  if (!event.eventTime) {
    if (about === '' ? namespace !== 'default' : namespace !== about) yield mismatch;
    return;
  }
  if (about === '' && namespace !== 'default' && namespace !== 'kube-system') yield mismatch;
  if (textAt(event, 'reportingComponent') === '') yield fieldError('Required value', controllerField);
  for (const name of ['reportingInstance', 'action', 'reason']) {
    if (textAt(event, name) === '') yield fieldError('Required value', name);
  }
  for (const [name, limit] of Object.entries(MAX_LENGTHS)) {
    if (textAt(event, name).length > limit) {
      yield fieldError('Invalid value', name, `can have at most ${limit} characters`, '');
    }
  }
}
