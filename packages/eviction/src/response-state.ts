/**
 * State table of the response to one met eviction threshold. Transitions that are not listed do not exist.
 *
 * | state        | event                                                    | next state | action             | control loop          |
 * |--------------|----------------------------------------------------------|------------|--------------------|-----------------------|
 * | working      | round                                                    | working    | shortenGracePeriod | next threshold        |
 * | met, removed | round; newer stats of the same round no longer meet it   | the same   | skip               | next threshold        |
 * | met, removed | round; still met                                         | the same   | assess             |                       |
 * | met, removed | assessed; disk space may still become free               | met        | awaitDiskSpace     | next threshold, retry |
 * | met, removed | assessed; a removal is due                               | working    | reclaim            |                       |
 * | met, removed | assessed; no removal is due                              | choosing   | checkChoice        |                       |
 * | working      | removal ended                                            | removed    | measure            |                       |
 * | working      | eviction ended: the pod is gone, or no longer awaited    | met        | reportEvicted      | new round, new stats  |
 * | working      | the node must be checked before the work ends            | working    | leaveRunning       | new round             |
 * | removed      | measured; no stats that show the effect of the removal   | removed    | awaitStats         | end of round, retry   |
 * | removed      | measured; no longer met                                  | resolved   | reportReclaimed    | next threshold        |
 * | removed      | measured; still met                                      | choosing   | checkChoice        |                       |
 * | choosing     | choice checked; images are kept until all pods are known | met        | awaitPods          | next threshold        |
 * | choosing     | choice checked; disk space may still become free         | met        | awaitDiskSpace     | next threshold, retry |
 * | choosing     | choice checked; otherwise                                | choosing   | rank               |                       |
 * | choosing     | ranked; the first candidate is already being evicted     | met        | joinEviction       | next threshold        |
 * | choosing     | ranked; no pod may be evicted                            | met        | reportNoCandidate  | next threshold        |
 * | choosing     | ranked; a pod may be evicted                             | working    | evict              |                       |
 *
 * `working`: the threshold's lane removes unused data or evicts a pod, for this or another threshold. `removed`: unused
 * data was removed for this threshold, and no stats have shown the effect. `retry`: the next round starts a second
 * after this one. A round only responds to thresholds whose grace period has passed and whose stats are fresh, see
 * `nextPressure`. Upstream removes data and evicts a pod in one pass that blocks (`synchronize` of
 * `pkg/kubelet/eviction/eviction_manager.go`).
 */

/** State of the response to one threshold. */
export type ResponseState = 'met' | 'working' | 'removed' | 'choosing' | 'resolved';

export type ResponseEvent =
  /** A round of the control loop reaches the threshold. */
  | { readonly type: 'round'; readonly isMet: boolean }
  /** Result of `assess`. `isRemovalDue`: result of the function `isRemovalDue`. */
  | { readonly type: 'assessed'; readonly maySettle: boolean; readonly isRemovalDue: boolean }
  | { readonly type: 'removalEnded' }
  | { readonly type: 'evictionEnded' }
  /** The node must be checked again, although the work of the lane has not ended. */
  | { readonly type: 'checkDue' }
  /** Result of `measure`. `nothing`: there are no stats, or the stats are older than the removal. */
  | { readonly type: 'measured'; readonly shows: 'nothing' | 'met' | 'unmet' }
  /** Result of `checkChoice`. */
  | { readonly type: 'choiceChecked'; readonly keepsImages: boolean; readonly maySettle: boolean }
  /** Result of `rank`. */
  | { readonly type: 'ranked'; readonly candidate: 'beingEvicted' | 'none' | 'found' };

/** Actions that end with an event for the same response. */
export type WorkAction = 'assess' | 'reclaim' | 'measure' | 'checkChoice' | 'rank' | 'evict';

/** Actions that end the response in this round. */
export type FinalAction =
  | 'shortenGracePeriod'
  | 'skip'
  | 'awaitDiskSpace'
  | 'reportEvicted'
  | 'leaveRunning'
  | 'awaitStats'
  | 'reportReclaimed'
  | 'awaitPods'
  | 'joinEviction'
  | 'reportNoCandidate';

/** Next step of the control loop after a response. */
export interface LoopStep {
  /**
   * `next`: the control loop continues with the next threshold. `endRound`: the control loop waits until the next check
   * is due. `checkNow`: the next check is due, and the work of the lane continues. `evicted`: the control loop checks
   * the node now, by stats that are newer than the eviction.
   */
  readonly step: 'next' | 'endRound' | 'checkNow' | 'evicted';
  /** Whether the next check is due after a second, because the present stats were not enough to decide. */
  readonly retry: boolean;
}

export type ResponseTransition = { readonly state: ResponseState } & (
  | { readonly action: WorkAction; readonly loop?: undefined }
  | { readonly action: FinalAction; readonly loop: LoopStep }
);

const NEXT: LoopStep = { step: 'next', retry: false };
const NEXT_AND_RETRY: LoopStep = { step: 'next', retry: true };
const END_ROUND_AND_RETRY: LoopStep = { step: 'endRound', retry: true };
const CHECK_NOW: LoopStep = { step: 'checkNow', retry: false };
const AFTER_EVICTION: LoopStep = { step: 'evicted', retry: false };

/**
 * Returns the next state of a response, and the action to perform. A pure function, which implements the table above.
 */
export function nextResponse(state: ResponseState, event: ResponseEvent): ResponseTransition {
  switch (state) {
    case 'met':
    case 'removed':
      return onMet(state, event);
    case 'working':
      return onWorking(state, event);
    case 'choosing':
      return onChoosing(state, event);
    case 'resolved':
      return ignored(state);
  }
}

function onMet(state: 'met' | 'removed', event: ResponseEvent): ResponseTransition {
  if (event.type === 'round') {
    return event.isMet ? { state, action: 'assess' } : { state, action: 'skip', loop: NEXT };
  }
  if (event.type === 'assessed') {
    if (event.maySettle) return { state: 'met', action: 'awaitDiskSpace', loop: NEXT_AND_RETRY };
    if (event.isRemovalDue) return { state: 'working', action: 'reclaim' };
    return { state: 'choosing', action: 'checkChoice' };
  }
  if (event.type !== 'measured' || state === 'met') return ignored(state);
  switch (event.shows) {
    case 'nothing':
      return { state: 'removed', action: 'awaitStats', loop: END_ROUND_AND_RETRY };
    case 'unmet':
      return { state: 'resolved', action: 'reportReclaimed', loop: NEXT };
    case 'met':
      return { state: 'choosing', action: 'checkChoice' };
  }
}

function onWorking(state: 'working', event: ResponseEvent): ResponseTransition {
  switch (event.type) {
    case 'round':
      return { state: 'working', action: 'shortenGracePeriod', loop: NEXT };
    case 'removalEnded':
      return { state: 'removed', action: 'measure' };
    case 'evictionEnded':
      return { state: 'met', action: 'reportEvicted', loop: AFTER_EVICTION };
    case 'checkDue':
      return { state: 'working', action: 'leaveRunning', loop: CHECK_NOW };
    default:
      return ignored(state);
  }
}

function onChoosing(state: 'choosing', event: ResponseEvent): ResponseTransition {
  if (event.type === 'choiceChecked') {
    if (event.keepsImages) return { state: 'met', action: 'awaitPods', loop: NEXT };
    if (event.maySettle) return { state: 'met', action: 'awaitDiskSpace', loop: NEXT_AND_RETRY };
    return { state: 'choosing', action: 'rank' };
  }
  if (event.type !== 'ranked') return ignored(state);
  switch (event.candidate) {
    case 'beingEvicted':
      return { state: 'met', action: 'joinEviction', loop: NEXT };
    case 'none':
      return { state: 'met', action: 'reportNoCandidate', loop: NEXT };
    case 'found':
      return { state: 'working', action: 'evict' };
  }
}

function ignored(state: ResponseState): ResponseTransition {
  return { state, action: 'skip', loop: NEXT };
}
