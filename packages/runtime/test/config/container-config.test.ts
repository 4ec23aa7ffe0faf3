import {
  type ContainerConfig,
  MountPropagation,
  messages,
  NamespaceMode,
  SecurityProfileProfileType,
  Signal,
} from '@node-agent/cri-client';
import type { Container, Mount, Pod } from '@node-agent/pod-spec';
import { describe, expect, it } from 'vitest';
import { generateContainerConfig } from '../../src/config/container-config.ts';
import type { ContainerContext } from '../../src/config/context.ts';
import { containerContext, makeContainer, makePod, nodeSettings } from './fixtures.ts';

function configOf(
  container: Container,
  context: Partial<ContainerContext> = {},
  pod: Pod = makePod({ containers: [container] }),
): ContainerConfig {
  const config = generateContainerConfig(pod, container, 'main', 3, { ...containerContext, ...context });
  return messages.ContainerConfig.create(config);
}

describe('generateContainerConfig', () => {
  it('the container config has image, command and environment, with variables expanded in the command', () => {
    const container = makeContainer({
      command: ['sh', '-c', '$(GREETING) $(MISSING) $$(GREETING)'],
      args: ['$(GREETING)!'],
      workingDir: '/work',
      stdin: true,
      stdinOnce: true,
      tty: true,
    });
    const config = configOf(container, {
      environment: [{ name: 'GREETING', value: 'hällo' }],
      imageRuntimeHandler: 'kata',
      devices: [{ hostPath: '/dev/null', containerPath: '/dev/zero', permissions: 'rw' }],
      cdiDevices: ['vendor.com/gpu=0'],
      annotations: { plug: 'in' },
    });
    expect(config).toMatchObject({
      metadata: { name: 'app', attempt: 3 },
      image: { image: 'sha256:1234', userSpecifiedImage: 'busybox', runtimeHandler: 'kata' },
      command: ['sh', '-c', 'hällo $(MISSING) $(GREETING)'],
      args: ['hällo!'],
      workingDir: '/work',
      logPath: 'app/3.log',
      stdin: true,
      stdinOnce: true,
      tty: true,
      labels: { 'io.kubernetes.container.name': 'app' },
      annotations: {
        plug: 'in',
        'io.kubernetes.container.hash': 'cafe',
        'io.kubernetes.container.restartCount': '3',
      },
      devices: [{ hostPath: '/dev/null', containerPath: '/dev/zero', permissions: 'rw' }],
      CDIDevices: [{ name: 'vendor.com/gpu=0' }],
      stopSignal: Signal.RUNTIME_DEFAULT,
    });
    expect(config.envs.map(({ key, value }) => [key, new TextDecoder().decode(value)])).toEqual([
      ['GREETING', 'hällo'],
    ]);
  });

  it('W3: refuses a container command that would fill the memory when it is expanded', () => {
    const environment = [{ name: 'LARGE', value: 'x'.repeat(2 ** 20) }];
    const args = Array.from({ length: 17 }, () => '$(LARGE)');
    expect(configOf(makeContainer({ args: args.slice(1) }), { environment }).args).toHaveLength(16);
    expect(() => configOf(makeContainer({ args }), { environment })).toThrow(
      expect.objectContaining({
        code: 'InvalidSpec',
        message: 'the command: more than 16777216 characters once variables are expanded',
      }),
    );
  });

  it('the container config has the given mounts, and the termination message file if there is one', () => {
    const mount: Mount = {
      hostPath: '/data',
      containerPath: '/mnt',
      readOnly: true,
      recursiveReadOnly: true,
      selinuxRelabel: true,
      propagation: 'HostToContainer',
    };
    const container = makeContainer({ terminationMessagePath: 'dev/termination-log' });
    const terminationMessageFile = '/var/lib/kubelet/pods/uid-1/containers/app/0000beef';
    const mounted = {
      hostPath: '/data',
      containerPath: '/mnt',
      readonly: true,
      recursiveReadOnly: true,
      selinuxRelabel: false,
      propagation: MountPropagation.PROPAGATION_HOST_TO_CONTAINER,
    };
    expect(configOf(container, { mounts: [mount] }).mounts).toMatchObject([mounted]);
    expect(configOf(container, { mounts: [mount], terminationMessageFile, selinuxEnabled: true }).mounts).toMatchObject(
      [
        { ...mounted, selinuxRelabel: true },
        {
          hostPath: terminationMessageFile,
          containerPath: '/dev/termination-log',
          readonly: false,
          selinuxRelabel: true,
        },
      ],
    );
    expect(configOf(makeContainer(), { terminationMessageFile }).mounts).toEqual([]);
  });

  it('the container config passes image volumes to the runtime with their subPaths', () => {
    const mount = {
      containerPath: '/img',
      hostPath: '',
      imageVolume: { name: 'img', subPath: 'etc' },
      readOnly: true,
      recursiveReadOnly: false,
      selinuxRelabel: false,
      propagation: 'None',
    } as const;
    const image = { image: 'sha256:12', userSpecifiedImage: 'data:1' };
    const { mounts } = configOf(makeContainer(), { mounts: [mount], imageVolumes: new Map([['img', image]]) });
    expect(mounts).toMatchObject([{ hostPath: '', containerPath: '/img', readonly: true, image, imageSubPath: 'etc' }]);
    expect(() => configOf(makeContainer(), { mounts: [mount] })).toThrow('the image of volume "img" was not pulled');
  });

  it.each([
    ['SIGUSR1', Signal.SIGUSR1],
    ['SIGRTMIN+3', Signal.SIGRTMINPLUS3],
    ['SIGRTMAX-1', Signal.SIGRTMAXMINUS1],
  ])('the container config has the stop signal %s if the spec sets it and the feature gate is on', (name, signal) => {
    const container = makeContainer({ lifecycle: { stopSignal: name } });
    expect(configOf(container).stopSignal).toBe(signal);
    expect(configOf(container, { node: { ...nodeSettings, containerStopSignals: false } }).stopSignal).toBe(0);
  });

  it.each(['SIGNOT', 'RUNTIME_DEFAULT', 'SIGRTMINPLUS3'])('refuses %s as the stop signal of a container', (name) => {
    expect(() => configOf(makeContainer({ lifecycle: { stopSignal: name } }))).toThrow(
      `unknown stop signal ${JSON.stringify(name)}`,
    );
  });
});

describe('the security context of a container', () => {
  const securityOf = (...args: Parameters<typeof configOf>): NonNullable<ContainerConfig['linux']>['securityContext'] =>
    configOf(...args).linux?.securityContext ?? null;

  it("the security context of the container takes precedence over the pod's, and the pod's over the image's user", () => {
    const podSecurity = {
      runAsUser: 1,
      runAsGroup: 2,
      fsGroup: 3,
      supplementalGroups: [4],
      seLinuxOptions: { type: 'p' },
    };
    const container = makeContainer({
      securityContext: {
        runAsUser: 10,
        privileged: true,
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { add: ['NET_ADMIN'], drop: ['ALL'] },
        seLinuxOptions: { type: 'c' },
      },
    });
    const context = { imageUser: { uid: 7 }, extraSupplementalGroups: [5] };
    expect(securityOf(container, context, makePod({ securityContext: podSecurity }))).toMatchObject({
      runAsUser: { value: 10 },
      runAsGroup: { value: 2 },
      runAsUsername: '',
      privileged: true,
      readonlyRootfs: true,
      noNewPrivs: true,
      capabilities: { addCapabilities: ['NET_ADMIN'], dropCapabilities: ['ALL'] },
      selinuxOptions: { type: 'c' },
      supplementalGroups: [3, 4, 5],
    });
    const plain = securityOf(makeContainer(), context, makePod({ securityContext: podSecurity }));
    expect(plain).toMatchObject({ runAsUser: { value: 1 }, selinuxOptions: { type: 'p' }, capabilities: null });
    expect(plain).toMatchObject({ privileged: false, noNewPrivs: false, readonlyRootfs: false });
    expect(securityOf(makeContainer(), { imageUser: { uid: 7 } })?.runAsUser).toEqual({ value: 7 });
    expect(securityOf(makeContainer(), { imageUser: { username: 'nobody' } })).toMatchObject({
      runAsUser: null,
      runAsUsername: 'nobody',
    });
  });

  it('SELinux options of the container replace those of the pod as a whole', () => {
    const pods = { user: 'u', role: 'r', type: 't', level: 's0:c1,c2' };
    const pod = makePod({ securityContext: { seLinuxOptions: pods } });
    expect(securityOf(makeContainer(), {}, pod)?.selinuxOptions).toEqual(pods);
    const own = makeContainer({ securityContext: { seLinuxOptions: { level: 's0:c3' } } });
    expect(securityOf(own, {}, pod)?.selinuxOptions).toEqual({ user: '', role: '', type: '', level: 's0:c3' });
    expect(securityOf(makeContainer())?.selinuxOptions).toBeNull();
  });

  it('masks paths in /proc unless procMount is Unmasked', () => {
    const node = { ...nodeSettings, extraMaskedPaths: ['/sys/devices/system/cpu/cpu0/thermal_throttle'] };
    const usual = securityOf(makeContainer(), { node });
    expect(usual?.maskedPaths).toContain('/proc/kcore');
    expect(usual?.maskedPaths).toContain('/sys/devices/system/cpu/cpu0/thermal_throttle');
    expect(usual?.readonlyPaths).toContain('/proc/sys');
    const unmasked = securityOf(makeContainer({ securityContext: { procMount: 'Unmasked' } }), { node });
    expect(unmasked).toMatchObject({ maskedPaths: [], readonlyPaths: [] });
  });

  const { RuntimeDefault, Unconfined, Localhost } = SecurityProfileProfileType;
  it.each([
    [undefined, undefined, false, Unconfined, ''],
    [undefined, undefined, true, RuntimeDefault, ''],
    [{ type: 'RuntimeDefault' }, undefined, false, RuntimeDefault, ''],
    [{ type: 'RuntimeDefault' }, { type: 'Unconfined' }, true, Unconfined, ''],
    [
      undefined,
      { type: 'Localhost', localhostProfile: 'a/b.json' },
      true,
      Localhost,
      '/var/lib/kubelet/seccomp/a/b.json',
    ],
  ])(
    'for pod profile %j, container profile %j and seccompDefault %s, the seccomp profile has type $3 and path "$4"',
    (pods, own, seccompDefault, profileType, localhostRef) => {
      const container = makeContainer(own ? { securityContext: { seccompProfile: own } } : {});
      const pod = makePod(pods ? { securityContext: { seccompProfile: pods } } : {});
      const context = { node: { ...nodeSettings, seccompDefault } };
      expect(securityOf(container, context, pod)?.seccomp).toEqual({ profileType, localhostRef });
    },
  );

  it('refuses a Localhost seccomp profile without a name', () => {
    const container = makeContainer({ securityContext: { seccompProfile: { type: 'Localhost' } } });
    expect(() => securityOf(container)).toThrow('localhostProfile must be set if seccompProfile type is Localhost.');
  });

  const annotation = 'container.apparmor.security.beta.kubernetes.io/app';
  it.each([
    [{ type: 'Unconfined' }, 'localhost/x', Unconfined, '', 'unconfined'],
    [undefined, 'localhost/x', Localhost, 'x', 'localhost/x'],
    [undefined, 'runtime/default', RuntimeDefault, '', 'runtime/default'],
    [undefined, 'nonsense', Localhost, 'pods', 'localhost/pods'],
  ])(
    'for container field %j and annotation %s, the AppArmor profile is $4',
    (own, value, profileType, localhostRef, apparmorProfile) => {
      const container = makeContainer(own ? { securityContext: { appArmorProfile: own } } : {});
      const pods = { type: 'Localhost', localhostProfile: 'pods' };
      const pod = makePod({ securityContext: { appArmorProfile: pods } }, { annotations: { [annotation]: value } });
      expect(securityOf(container, {}, pod)).toMatchObject({
        apparmor: { profileType, localhostRef },
        apparmorProfile,
      });
    },
  );

  it('omits the AppArmor profile if none is declared, and refuses an unknown type', () => {
    expect(securityOf(makeContainer())).toMatchObject({ apparmor: null, apparmorProfile: '' });
    const unknown = makeContainer({ securityContext: { appArmorProfile: { type: 'Strict' } } });
    expect(() => securityOf(unknown)).toThrow('unknown apparmor profile type: "Strict"');
    const nameless = makeContainer({ securityContext: { appArmorProfile: { type: 'Localhost' } } });
    expect(() => securityOf(nameless)).toThrow('missing localhost apparmor profile name');
  });

  it('an ephemeral container shares the PID namespace of its target, unless the pod shares its PID namespace', () => {
    const target = { targetContainerId: 'c1' };
    expect(securityOf(makeContainer(), target)?.namespaceOptions).toMatchObject({
      pid: NamespaceMode.TARGET,
      targetId: 'c1',
    });
    const sharing = makePod({ shareProcessNamespace: true });
    expect(securityOf(makeContainer(), target, sharing)?.namespaceOptions).toMatchObject({
      pid: NamespaceMode.POD,
      targetId: '',
    });
  });

  it.each([
    [
      { uid: 0 },
      undefined,
      undefined,
      'container has runAsNonRoot and image will run as root (pod: "web_default(uid-1)", container: app)',
    ],
    [
      { username: 'www' },
      undefined,
      undefined,
      'container has runAsNonRoot and image has non-numeric user (www), cannot verify user is non-root (pod: "web_default(uid-1)", container: app)',
    ],
    [
      { uid: -5 },
      undefined,
      undefined,
      'container has runAsNonRoot and image has an invalid user id (-5). (Must be 1-(2147483647)): must be between 0 and 2147483647, inclusive (pod: "web_default(uid-1)", container: app)',
    ],
    [
      { uid: 5 },
      0,
      undefined,
      'container\'s runAsUser breaks non-root policy (pod: "web_default(uid-1)", container: app)',
    ],
    [{ uid: 5 }, 7, 0, 'container\'s runAsUser breaks non-root policy (pod: "web_default(uid-1)", container: app)'],
    [{ uid: 5 }, undefined, undefined, undefined],
    [{ uid: 0 }, 5, undefined, undefined],
    [{ username: 'www' }, 0, 5, undefined],
  ])(
    'runAsNonRoot with image user %j, runAsUser %s of the pod and %s of the container: error %s',
    (imageUser, podUser, ownUser, message) => {
      const container = makeContainer({
        securityContext: ownUser === undefined ? {} : { runAsUser: ownUser },
      });
      const securityContext = { runAsNonRoot: true, ...(podUser !== undefined && { runAsUser: podUser }) };
      const generate = (): unknown => securityOf(container, { imageUser }, makePod({ securityContext }));
      if (message === undefined) expect(generate()).toBeTruthy();
      else expect(generate).toThrow(expect.objectContaining({ code: 'NonRootViolation', message }));
    },
  );

  it("runAsNonRoot false of a container takes precedence over the pod's true", () => {
    const container = makeContainer({ securityContext: { runAsNonRoot: false } });
    expect(securityOf(container, {}, makePod({ securityContext: { runAsNonRoot: true } }))).toBeTruthy();
  });
});
