import {
  CONFIG_MIRROR_ANNOTATION,
  CONFIG_SOURCE_ANNOTATION,
  isMirrorPod,
  type Pod,
  podFullName,
} from '@node-agent/pod-spec';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PodManager } from '../src/pod-manager.ts';

const of = (uid: string, name: string, annotations: Record<string, string>): Pod => ({
  metadata: { uid, name, namespace: 'default', annotations },
  spec: { containers: [] },
});
const apiPod = (uid: string, name = uid): Pod => of(uid, name, { [CONFIG_SOURCE_ANNOTATION]: 'api' });
const staticPod = (uid: string, name = uid): Pod => of(uid, name, { [CONFIG_SOURCE_ANNOTATION]: 'file' });
const mirrorPod = (uid: string, name: string): Pod =>
  of(uid, name, { [CONFIG_SOURCE_ANNOTATION]: 'api', [CONFIG_MIRROR_ANNOTATION]: 'hash' });

const managerOf = (...pods: Pod[]): PodManager => {
  const manager = new PodManager();
  manager.setPods(pods);
  return manager;
};

describe('PodManager', () => {
  const api = apiPod('a', 'web');
  const own = staticPod('s', 'etcd');
  const mirror = mirrorPod('m', 'etcd');

  it('PodManager finds pods, but not mirror pods, by UID, full name and name', () => {
    const manager = managerOf(api, own, mirror);
    expect(manager.getPods()).toEqual([api, own]);
    expect(manager.getMirrorPods()).toEqual([mirror]);
    expect(manager.getPodByUid('s')).toBe(own);
    expect(manager.getPodByUid('m')).toBeUndefined();
    expect(manager.getPodByFullName('etcd_default')).toBe(own);
    expect(manager.getPodByName('default', 'web')).toBe(api);
    expect(manager.getPodByName('other', 'web')).toBeUndefined();
  });

  it.each([
    ['static pod first', [own, mirror]],
    ['mirror pod first', [mirror, own]],
  ])('PodManager links a static pod and its mirror pod, %s', (_name, pods) => {
    const manager = managerOf(...pods);
    expect(manager.getPodByMirrorPod(mirror)).toBe(own);
    expect(manager.getMirrorPodByPod(own)).toBe(mirror);
    expect(manager.getPodAndMirrorPod(own)).toEqual({ pod: own, mirrorPod: mirror, wasMirror: false });
    expect(manager.getPodAndMirrorPod(mirror)).toEqual({ pod: own, mirrorPod: mirror, wasMirror: true });
    expect(['m', 's', 'x', ''].map((uid) => manager.translatePodUid(uid))).toEqual(['s', 's', 'x', '']);
    expect(manager.getStaticPodToMirrorPodMap()).toEqual(new Map([[own, mirror]]));
    expect(manager.getUidTranslations()).toEqual({
      podToMirror: new Map([['s', 'm']]),
      mirrorToPod: new Map([['m', 's']]),
    });
  });

  it('PodManager reports the number of pods without mirror pods whenever it changes', () => {
    const counts: number[] = [];
    const manager = new PodManager({ onCountChanged: (pods) => counts.push(pods) });
    manager.setPods([api, own, mirror]);
    manager.updatePod({ ...api });
    manager.removePod(mirror);
    manager.addPod(apiPod('b'));
    manager.removePod(apiPod('unknown'));
    manager.removePod(api);
    manager.setPods([]);
    manager.setPods([]);
    expect(counts).toEqual([2, 3, 2, 0]);
  });

  it('PodManager returns a static pod without a mirror pod', () => {
    const manager = managerOf(api, own);
    expect(manager.getStaticPodToMirrorPodMap()).toEqual(new Map([[own, undefined]]));
    expect(manager.getUidTranslations().podToMirror).toEqual(new Map([['s', undefined]]));
    expect(manager.getPodAndMirrorPod(own).mirrorPod).toBeUndefined();
    const orphaned = managerOf(api, mirror).getPodAndMirrorPod(mirror);
    expect(orphaned).toEqual({ pod: undefined, mirrorPod: mirror, wasMirror: true });
  });

  it('PodManager returns mirror pods whose static pod was removed', () => {
    const manager = managerOf(own, mirror, mirrorPod('m2', 'gone'));
    expect(manager.getPodsAndMirrorPods().orphanedMirrorPodFullNames).toEqual(['gone_default']);
    manager.removePod(own);
    expect(manager.getPodsAndMirrorPods().orphanedMirrorPodFullNames).toEqual(['etcd_default', 'gone_default']);
  });

  it('PodManager forgets a mirror pod and its UID translation', () => {
    const manager = managerOf(own, mirror);
    manager.removePod(mirror);
    expect(manager.getMirrorPodByPod(own)).toBeUndefined();
    expect(manager.translatePodUid('m')).toBe('m');
  });

  it('PodManager keeps the newer of two mirror pods of one name when the older is removed', () => {
    const newer = mirrorPod('m2', 'etcd');
    const manager = managerOf(own, mirror, newer);
    manager.removePod(mirror);
    expect(manager.getMirrorPodByPod(own)).toBe(newer);
    expect(manager.translatePodUid('m2')).toBe('s');
  });

  it('PodManager replaces a pod by its new version', () => {
    const next = { ...own, metadata: { ...own.metadata, labels: { v: '2' } } };
    const manager = managerOf(own);
    manager.updatePod(next);
    expect(manager.getPods()).toEqual([next]);
  });

  it('P4: with two pods of one name, the name refers to the newer, and to the other when the newer is removed', () => {
    const [first, second] = [staticPod('s1', 'etcd'), staticPod('s2', 'etcd')];
    const manager = managerOf(first, mirror);
    manager.addPod(second);
    expect([manager.getPodByName('default', 'etcd'), manager.translatePodUid('m')]).toEqual([second, 's2']);
    manager.removePod(first);
    expect(manager.getPodByName('default', 'etcd')).toBe(second);
    manager.addPod(first);
    manager.removePod(first);
    expect(manager.getPodByName('default', 'etcd')).toBe(second);
    expect(manager.getPods()).toEqual([second]);
  });

  it('PodManager agrees with a plain list of pods after any sequence of changes', () => {
    const pods = ['web', 'db'].flatMap((name) => [
      ...['1', '2'].flatMap((n) => [apiPod(`a${n}${name}`, name), staticPod(`s${n}${name}`, name)]),
      mirrorPod(`m${name}`, name),
    ]);
    const step = fc.record({ pod: fc.constantFrom(...pods), add: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const manager = new PodManager();
        let known: Pod[] = [];
        for (const { pod, add } of steps) {
          if (add) manager.addPod(pod);
          else manager.removePod(pod);
          if (add && !known.includes(pod)) known.push(pod);
          if (!add) known = known.filter((other) => other !== pod);
        }
        const real = known.filter((pod) => !isMirrorPod(pod));
        expect(new Set(manager.getPods())).toEqual(new Set(real));
        expect(new Set(manager.getMirrorPods())).toEqual(new Set(known.filter(isMirrorPod)));
        for (const pod of pods) {
          const named = real.filter((other) => podFullName(other) === podFullName(pod));
          expect(manager.getPodByFullName(podFullName(pod)) !== undefined).toBe(named.length > 0);
          if (named.length > 0) expect(named).toContain(manager.getPodByFullName(podFullName(pod)));
        }
      }),
    );
  });
});

describe('PodManager with many pods', () => {
  it('PodManager checks only that pod when one of 1,000 pods is removed', () => {
    let looks = 0;
    const pods = Array.from({ length: 1000 }, (_, index): Pod => {
      const { metadata, ...pod } = apiPod(`${index}`);
      return {
        ...pod,
        get metadata() {
          looks += 1;
          return metadata;
        },
      };
    });
    const manager = managerOf(...pods);
    looks = 0;
    manager.removePod(apiPod('500'));
    expect([looks, manager.getPods().length]).toEqual([1, 999]);
  });
});
