import { describe, expect, test } from 'vitest';
import { nextResponse, type ResponseEvent, type ResponseState } from '../src/response-state.ts';

const round = (isMet: boolean): ResponseEvent => ({ type: 'round', isMet });
const assessed = (maySettle: boolean, isRemovalDue: boolean): ResponseEvent => ({
  ...{ type: 'assessed', maySettle, isRemovalDue },
});
const measured = (shows: 'nothing' | 'met' | 'unmet'): ResponseEvent => ({ type: 'measured', shows });
const choiceChecked = (keepsImages: boolean, maySettle: boolean): ResponseEvent => ({
  ...{ type: 'choiceChecked', keepsImages, maySettle },
});
const ranked = (candidate: 'beingEvicted' | 'none' | 'found'): ResponseEvent => ({ type: 'ranked', candidate });

/**
 * All rows of the table in `response-state.ts`, once for each value of a fact that the table's row does not mention.
 */
const ROWS: readonly (readonly [string, ResponseState, ResponseEvent, ResponseState, string, string])[] = [
  ['shortens grace periods while its lane works', 'working', round(true), 'working', 'shortenGracePeriod', 'next'],
  [
    'shortens grace periods even if newer stats no longer meet the threshold',
    'working',
    round(false),
    'working',
    'shortenGracePeriod',
    'next',
  ],
  ['skips a threshold that newer stats no longer meet', 'met', round(false), 'met', 'skip', 'next'],
  ['keeps the removal of a skipped threshold', 'removed', round(false), 'removed', 'skip', 'next'],
  ['assesses a met threshold', 'met', round(true), 'met', 'assess', ''],
  ['assesses a threshold that is still met after a removal', 'removed', round(true), 'removed', 'assess', ''],
  ['awaits disk space', 'met', assessed(true, false), 'met', 'awaitDiskSpace', 'next retry'],
  ['awaits disk space before it removes anything', 'met', assessed(true, true), 'met', 'awaitDiskSpace', 'next retry'],
  ['awaits disk space after a removal', 'removed', assessed(true, false), 'met', 'awaitDiskSpace', 'next retry'],
  ['removes unused containers and images', 'met', assessed(false, true), 'working', 'reclaim', ''],
  ['removes again if the removal is out of date', 'removed', assessed(false, true), 'working', 'reclaim', ''],
  ['chooses a pod if no removal is due', 'met', assessed(false, false), 'choosing', 'checkChoice', ''],
  ['chooses a pod if the removal was not enough', 'removed', assessed(false, false), 'choosing', 'checkChoice', ''],
  ['measures the node after a removal', 'working', { type: 'removalEnded' }, 'removed', 'measure', ''],
  ['takes new stats after an eviction', 'working', { type: 'evictionEnded' }, 'met', 'reportEvicted', 'evicted'],
  ['leaves work running', 'working', { type: 'checkDue' }, 'working', 'leaveRunning', 'checkNow'],
  ['awaits stats that show the removal', 'removed', measured('nothing'), 'removed', 'awaitStats', 'endRound retry'],
  ['reports a sufficient removal', 'removed', measured('unmet'), 'resolved', 'reportReclaimed', 'next'],
  ['chooses a pod after an insufficient removal', 'removed', measured('met'), 'choosing', 'checkChoice', ''],
  ['keeps images and pods', 'choosing', choiceChecked(true, false), 'met', 'awaitPods', 'next'],
  [
    'keeps images and pods while disk space may become free',
    'choosing',
    choiceChecked(true, true),
    'met',
    'awaitPods',
    'next',
  ],
  ['awaits the removed data', 'choosing', choiceChecked(false, true), 'met', 'awaitDiskSpace', 'next retry'],
  ['ranks the pods', 'choosing', choiceChecked(false, false), 'choosing', 'rank', ''],
  ['joins an eviction in progress', 'choosing', ranked('beingEvicted'), 'met', 'joinEviction', 'next'],
  ['reports that no pod may be evicted', 'choosing', ranked('none'), 'met', 'reportNoCandidate', 'next'],
  ['evicts a pod', 'choosing', ranked('found'), 'working', 'evict', ''],
];

describe('nextResponse', () => {
  test.each(ROWS)(
    'N2: from the state $1, the response to a threshold %s and its next state is $3',
    (_name, state, event, nextState, action, loop) => {
      const next = nextResponse(state, event);
      const { step = '', retry = false } = next.loop ?? {};
      expect([next.state, next.action, retry ? `${step} retry` : step]).toEqual([nextState, action, loop]);
    },
  );

  test('the response to a threshold does not change for events that the table does not list', () => {
    const states: readonly ResponseState[] = ['met', 'working', 'removed', 'choosing', 'resolved'];
    const listed = new Set(ROWS.map(([, state, { type }]) => `${state} ${type}`));
    const unlisted = states.flatMap((state) =>
      ROWS.flatMap(([, , event]) => (listed.has(`${state} ${event.type}`) ? [] : [[state, event] as const])),
    );
    expect(unlisted.length).toBeGreaterThan(50);
    for (const [state, event] of unlisted) {
      const skip = { state, action: 'skip', loop: { step: 'next', retry: false } };
      expect(nextResponse(state, event), `${state} ${event.type}`).toEqual(skip);
    }
  });
});
