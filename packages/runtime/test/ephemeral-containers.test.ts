import type { CreateContainerRequest, Init } from '@node-agent/cri-client';
import { NamespaceMode } from '@node-agent/cri-client';
import type { EphemeralContainer, Pod } from '@node-agent/pod-spec';
import { describe, expect, test } from 'vitest';
import { pod } from './builders.ts';
import { Machine, once, sleeper } from './machine.ts';

const withDebuggers = (...ephemeralContainers: EphemeralContainer[]): Pod =>
  pod({ containers: [sleeper('app')], ephemeralContainers });

describe('ephemeral containers', () => {
  test('an ephemeral container that is added to a running pod starts once and never again', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    await machine.sync(kubelet, withDebuggers());

    const debugged = withDebuggers(once('look', 3));
    expect((await machine.sync(kubelet, debugged)).results).toEqual([{ action: 'StartContainer', target: 'look' }]);
    await machine.clock.advance(10);
    for (let n = 0; n < 3; n++) expect(await machine.sync(kubelet, debugged)).toEqual({ results: [] });
    // Another kubelet process does not start the container either.
    expect(await machine.sync(machine.kubelet(), debugged)).toEqual({ results: [] });
    const ended = (await machine.status(kubelet, debugged)).containers.find(({ name }) => name === 'look');
    expect(ended).toMatchObject({ state: 'exited', exitCode: 3, restartCount: 0 });
    expect(machine.live()).toEqual(['app/0']);
    expect(machine.counts.get('kubelet_started_containers_total{"container_type":"ephemeral_container"}')).toBe(1);
  });

  test('an ephemeral container sees the processes of its target container', async () => {
    const machine = new Machine();
    const created: Init<CreateContainerRequest>[] = [];
    const kubelet = machine.kubelet(
      new Proxy(machine.cri, {
        get(target, name) {
          const member: unknown = Reflect.get(target, name, target);
          if (typeof member !== 'function') return member;
          return (...args: unknown[]) => {
            if (name === 'createContainer') created.push(args[0] as Init<CreateContainerRequest>);
            return Reflect.apply(member, target, args);
          };
        },
      }),
    );
    await machine.sync(kubelet, withDebuggers());
    const appId = (await machine.status(kubelet, withDebuggers())).containers[0]?.id;
    await machine.sync(kubelet, withDebuggers({ ...sleeper('look'), targetContainerName: 'app' }));
    expect(created.at(-1)?.config?.linux?.securityContext?.namespaceOptions).toMatchObject({
      pid: NamespaceMode.TARGET,
      targetId: appId,
    });
  });

  test('an ephemeral container with a missing target waits with the reason, and other containers are not affected', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const lost = withDebuggers({ ...sleeper('look'), targetContainerName: 'nobody' }, sleeper('other'));
    const { results } = await machine.sync(kubelet, lost);
    expect(results).not.toContainEqual({ action: 'StartContainer', target: 'look' });
    const { results: next } = await machine.sync(kubelet, lost);
    expect(next).toEqual([
      {
        action: 'StartContainer',
        target: 'look',
        error: { reason: 'CreateContainerConfigError', message: 'unable to find target container nobody' },
      },
      { action: 'StartContainer', target: 'other' },
    ]);
    expect(machine.live()).toEqual(['app/0', 'other/0']);
  });

  test('C3: ephemeral containers stop with the pod, and do not keep the pod running', async () => {
    const machine = new Machine();
    const kubelet = machine.kubelet();
    const ending = pod({ restartPolicy: 'Never', containers: [once('app')], ephemeralContainers: [sleeper('look')] });
    await machine.sync(kubelet, ending);
    await machine.clock.advance(10);
    await machine.sync(kubelet, ending);
    await machine.clock.advance(40_000);
    expect(machine.live()).toEqual([]);
  });
});
