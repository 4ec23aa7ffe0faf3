import type { KubeletClient } from './kubelet-client.ts';
import type { PageAddress } from './page-address.ts';
import type { PodEvent } from './view/event-log.ts';
import { diffLines } from './view/lines.ts';
import { isSettled, type PodView, podViews } from './view/pod-view.ts';
import type { Screen } from './view/screen.ts';
import { nodeLines, renderTable } from './view/table.ts';

const PERIOD_MS = 500;
/** Grace period after the start, during which failing health checks are not reported. */
const START_MS = 10_000;

/** Components of {@link watchPods}. */
interface Watching {
  readonly client: KubeletClient;
  readonly screen: Screen;
  readonly now: () => number;
  /** Reads the address of the page about the node; absent if the kubelet serves no page. */
  readonly page?: Pick<PageAddress, 'next'>;
}

/**
 * Shows the pods until `signal` is aborted or, with `onceReady`, until every pod is running. @returns whether every pod
 * is running
 */
export async function watchPods(
  { client, screen, now, page }: Watching,
  { onceReady }: { readonly onceReady: boolean },
  signal: AbortSignal,
): Promise<boolean> {
  let shown: readonly PodView[] = [];
  let problem: string | undefined;
  let reason: string | undefined;
  let wasWell = false;
  const startedAtMs = now();
  const events = new Map<string, PodEvent>();
  const broken = new Set<string>();
  let changedAtMs = startedAtMs;
  while (!signal.aborted) {
    const [pods, newProblem, news, address] = await Promise.all([
      client.pods(),
      client.problem(),
      client.news(),
      page?.next(),
    ]);
    if (address !== undefined) screen.say(`page:    ${address}   (only for you: the address contains a secret)`);
    for (const event of news.events) {
      events.set(event.podUid, event);
      if (!screen.isLive) screen.say(`${time(event.atMs)} ${eventLine(event)}`);
    }
    for (const { problem: text, isGone } of news.manifests) {
      // A restarted kubelet logs all problems again, so a known problem is not shown again.
      if (isGone ? !broken.delete(text) : broken.has(text)) continue;
      if (!isGone) broken.add(text);
      if (!screen.isLive) screen.say(`${time(now())} manifest: ${isGone ? 'resolved: ' : ''}${text}`);
    }
    wasWell ||= newProblem === undefined;
    const isStarting = !wasWell && now() - startedAtMs < START_MS;
    if (!isStarting) {
      if (newProblem !== problem) {
        if (!screen.isLive) screen.say(`${time(now())} node: ${newProblem ?? 'healthy'}`);
        changedAtMs = now();
      }
      problem = newProblem;
      if (!screen.isLive && newProblem !== undefined && news.node !== undefined && news.node !== reason) {
        screen.say(`${time(now())} node: pods are not synced: ${news.node}`);
      }
      reason = newProblem === undefined ? undefined : (news.node ?? reason);
    }
    const views = pods === undefined ? shown : podViews(pods);
    if (screen.isLive) {
      const state = isStarting ? 'starting' : (problem ?? 'healthy');
      const node = { state, reason, forMs: now() - changedAtMs, pods: views.length };
      const table = renderTable(views, events, now(), screen.width - 1);
      screen.draw([...nodeLines(node, [...broken], screen.width - 1), ...table]);
    }
    if (pods !== undefined) {
      if (!screen.isLive) for (const line of diffLines(shown, views)) screen.say(`${time(now())} ${line}`);
      shown = views;
      const known = new Set(views.map(({ uid }) => uid));
      for (const uid of events.keys()) if (!known.has(uid)) events.delete(uid);
      if (onceReady && views.length > 0 && views.every(isSettled)) return true;
    }
    await sleep(PERIOD_MS, signal);
  }
  return false;
}

function eventLine({ pod, container, type, reason, message }: PodEvent): string {
  const about = container === undefined ? '' : ` container ${container}`;
  return `${pod.replace(/^default\//, '')}:${about} ${type === 'Normal' ? '' : `${type} `}${reason}: ${message}`;
}

function time(atMs: number): string {
  return new Date(atMs).toTimeString().slice(0, 8);
}

function sleep(ms: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    const done = (): void => {
      clearTimeout(timer);
      signal.removeEventListener('abort', done);
      resolve();
    };
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', done);
  });
}
