import { OptionsError } from '@node-agent/async';
import { describe, expect, it } from 'vitest';
import { parseEndpoint } from '../src/endpoint.ts';
import { CriClient, CriError, imageServiceRpcs, messages, runtimeServiceRpcs } from '../src/index.ts';
import { operationType } from '../src/operations.ts';
import * as checks from '../src/response-checks.ts';
import { callTimeoutMs } from '../src/timeouts.ts';
import { traceMetadata } from '../src/trace-context.ts';
import { unsupportedRuntime } from '../src/version.ts';

describe('parseEndpoint', () => {
  it.each([
    [
      'unix:///run/containerd/containerd.sock',
      'unix:///run/containerd/containerd.sock',
      'unix:/run/containerd/containerd.sock',
    ],
    ['unix:/run/crio/crio.sock', 'unix:///run/crio/crio.sock', 'unix:/run/crio/crio.sock'],
    ['tcp://127.0.0.1:3735', 'tcp://127.0.0.1:3735', 'dns:127.0.0.1:3735'],
    ['tcp://runtime.example:80/', 'tcp://runtime.example:80', 'dns:runtime.example:80'],
    ['tcp://x:1', 'tcp://x:1', 'dns:x:1'],
    ['tcp://x:65535', 'tcp://x:65535', 'dns:x:65535'],
    ['tcp://x:00080', 'tcp://x:80', 'dns:x:80'],
    ['tcp://[::1]:3735', 'tcp://[::1]:3735', 'dns:[::1]:3735'],
  ])('parseEndpoint reads %s as the URL %s and the target %s', (endpoint, url, target) => {
    expect(parseEndpoint(endpoint)).toEqual({ url, target });
  });

  it('parseEndpoint accepts a bare path with a warning', () => {
    const { url, warning } = parseEndpoint('/run/containerd/containerd.sock');
    expect(url).toBe('unix:///run/containerd/containerd.sock');
    expect(warning).toContain('is deprecated, please consider using full url format');
  });

  it.each([
    ['http://x', /protocol "http" is not supported/],
    ['npipe:////./pipe/containerd', /protocol "npipe" is not supported/],
    ['', /must have an absolute path/],
    ['run/x.sock', /must have an absolute path/],
    ['unix://run/x.sock', /must have an absolute path/],
    ['unix:///', /must have an absolute path/],
    [`unix:///${'x'.repeat(107)}`, /at most 107 bytes, it has 108/],
    ['tcp://127.0.0.1', /tcp:\/\/host:port/],
    ['tcp://127.0.0.1:0', /tcp:\/\/host:port/],
    ['tcp://127.0.0.1:65536', /tcp:\/\/host:port/],
    ['tcp://user@host:1/path', /tcp:\/\/host:port/],
  ])('parseEndpoint refuses %j', (endpoint, message) => {
    expect(() => parseEndpoint(endpoint)).toThrow(message);
    expect(() => parseEndpoint(endpoint)).toThrow(
      expect.toSatisfy((err) => OptionsError.is(err) && err.code === 'InvalidOptions' && err.option === 'endpoint'),
    );
  });

  it.each([undefined, null, 5])('parseEndpoint refuses %s as an endpoint', (none) => {
    const told = { name: 'OptionsError', code: 'InvalidOptions', option: 'endpoint' };
    expect(() => new CriClient({}, { endpoint: none as never })).toThrow(expect.objectContaining(told));
  });

  it('parseEndpoint accepts the longest path that a Unix socket can have', () => {
    expect(parseEndpoint(`unix:///${'x'.repeat(106)}`).url).toHaveLength(114);
  });
});

describe('callTimeoutMs', () => {
  it.each([
    ['Version', {}, 120_000],
    ['RunPodSandbox', {}, 240_000],
    ['StopPodSandbox', {}, 120_000],
    ['StopContainer', { timeout: 30 }, 150_000],
    ['StopContainer', {}, 120_000],
    ['ExecSync', { timeout: 1 }, 121_000],
    ['ExecSync', { timeout: 0 }, undefined],
    ['ExecSync', {}, undefined],
    ['CheckpointContainer', { timeout: 5 }, 120_000],
    ['CheckpointContainer', { timeout: 500 }, 500_000],
    ['PullImage', {}, undefined],
    ['GetContainerEvents', {}, undefined],
    ['ListImages', {}, 120_000],
    ['StreamContainers', {}, 120_000],
    ['ListContainers', undefined, 120_000],
    ['StopContainer', null, 120_000],
    ['StopContainer', { timeout: '30' }, 120_000],
  ])('the deadline of %s with the request %j is %s ms', (rpc, request, expected) => {
    expect(callTimeoutMs(rpc, request, 120_000)).toBe(expected);
  });
});

describe('operationType', () => {
  it("operationType returns upstream's name of each RPC in metrics", () => {
    const rpcs = Object.values({ ...runtimeServiceRpcs, ...imageServiceRpcs });
    expect(rpcs.filter((rpc) => !rpc.stream).map((rpc) => operationType(rpc.name))).toEqual([
      'version',
      'run_podsandbox',
      'stop_podsandbox',
      'remove_podsandbox',
      'podsandbox_status',
      'list_podsandbox',
      'create_container',
      'start_container',
      'stop_container',
      'remove_container',
      'list_containers',
      'container_status',
      'update_container',
      'reopen_container_log',
      'exec_sync',
      'exec',
      'attach',
      'port_forward',
      'container_stats',
      'list_container_stats',
      'podsandbox_stats',
      'list_podsandbox_stats',
      'update_runtime_config',
      'status',
      'checkpoint_container',
      'list_metric_descriptors',
      'list_podsandbox_metrics',
      'runtime_config',
      'update_podsandbox_resources',
      'list_images',
      'image_status',
      'pull_image',
      'remove_image',
      'image_fs_info',
    ]);
    expect(operationType('GetContainerEvents')).toBe('get_container_events');
  });
});

describe('CriError', () => {
  it.each([
    ['CANCELLED', 'Canceled'],
    ['UNKNOWN', 'Unknown'],
    ['DEADLINE_EXCEEDED', 'DeadlineExceeded'],
    ['FAILED_PRECONDITION', 'FailedPrecondition'],
  ] as const)('CriError names the code %s as Go does: %s', (code, name) => {
    expect(new CriError({ rpc: 'X', code, details: 'why' }).statusMessage).toBe(`rpc error: code = ${name} desc = why`);
  });

  it('CriError.from converts any thrown value', () => {
    const own = new CriError({ rpc: 'X', code: 'ABORTED', details: 'd' });
    expect(CriError.from(own, 'Y')).toBe(own);
    const status = Object.assign(new Error('5 NOT_FOUND: gone'), { code: 5, details: 'gone' });
    expect(CriError.from(status, 'Y')).toMatchObject({ code: 'NOT_FOUND', rpc: 'Y', details: 'gone', cause: status });
    expect(CriError.from(new DOMException('stop', 'AbortError'))).toMatchObject({ code: 'CANCELLED' });
    expect(CriError.from(new TypeError('odd'))).toMatchObject({
      code: 'UNKNOWN',
      details: 'odd',
      message: 'UNKNOWN: odd',
    });
    expect(CriError.from('text')).toMatchObject({ code: 'UNKNOWN', details: 'text', cause: 'text' });
    const system = Object.assign(new Error('no'), { code: 'ENOENT' });
    expect(CriError.from(system)).toMatchObject({ code: 'UNKNOWN' });
  });
});

describe('checks of responses', () => {
  const { ContainerStatusResponse, PodSandboxStatusResponse, ImageStatusResponse, VersionResponse, StatusResponse } =
    messages;
  const container = { id: 'c', metadata: { name: 'n' }, createdAt: 1, image: { image: 'i' }, imageRef: 'r' };
  const sandbox = { id: 's', metadata: { name: 'n', namespace: 'ns', uid: 'u' }, createdAt: 1 };

  it.each([
    [undefined, container],
    ['status.id is not set', { ...container, id: '' }],
    ['status.metadata is not set', { ...container, metadata: null }],
    ['status.metadata has no name', { ...container, metadata: {} }],
    ['status.createdAt is not set', { ...container, createdAt: 0 }],
    ['status.image is not set', { ...container, image: null }],
    ['status.image is not set', { ...container, image: {} }],
    ['status.imageRef is not set', { ...container, imageRef: '' }],
    [undefined, undefined],
  ])('checkContainerStatus returns the required field that a ContainerStatus response lacks: %s', (lack, status) => {
    expect(checks.checkContainerStatus(ContainerStatusResponse.create({ status }))).toBe(lack);
  });

  it.each([
    [undefined, sandbox],
    ['status.id is not set', { ...sandbox, id: '' }],
    ['status.metadata is not set', { ...sandbox, metadata: null }],
    ['status.metadata has no name, namespace or uid', { ...sandbox, metadata: { name: 'n', namespace: 'ns' } }],
    ['status.metadata has no name, namespace or uid', { ...sandbox, metadata: { name: 'n', uid: 'u' } }],
    ['status.metadata has no name, namespace or uid', { ...sandbox, metadata: { namespace: 'ns', uid: 'u' } }],
    ['status.createdAt is not set', { ...sandbox, createdAt: 0 }],
    [undefined, undefined],
  ])('checkPodSandboxStatus returns the required field that a PodSandboxStatus response lacks: %s', (lack, status) => {
    expect(checks.checkPodSandboxStatus(PodSandboxStatusResponse.create({ status }))).toBe(lack);
  });

  it('checks that ImageStatus, Status and Version responses are complete', () => {
    expect(checks.checkImageStatus(ImageStatusResponse.create({}))).toBeUndefined();
    expect(checks.checkImageStatus(ImageStatusResponse.create({ image: { id: 'x', size: 1 } }))).toBeUndefined();
    expect(checks.checkImageStatus(ImageStatusResponse.create({ image: { id: 'x' } }))).toContain('size');
    expect(checks.checkStatus(StatusResponse.create({ status: { conditions: [{}, {}] } }))).toBeUndefined();
    expect(checks.checkStatus(StatusResponse.create({}))).toContain('NetworkReady');
    expect(checks.checkImageStatus(ImageStatusResponse.create({ image: { size: 1 } }))).toContain('id');
    expect(checks.checkStatus(StatusResponse.create({ status: { conditions: [{}] } }))).toContain('NetworkReady');
    const version = { version: '1', runtimeName: 'x', runtimeApiVersion: 'v1', runtimeVersion: '2' };
    expect(checks.checkVersion(VersionResponse.create(version))).toBeUndefined();
    for (const field of Object.keys(version)) {
      expect(checks.checkVersion(VersionResponse.create({ ...version, [field]: '' }))).toBe(
        `not all fields are set: ${field} missing`,
      );
    }
    expect(checks.checkVersion(VersionResponse.create({ version: '1', runtimeName: 'x' }))).toBe(
      'not all fields are set: runtimeApiVersion, runtimeVersion missing',
    );
  });

  it('checks that responses of create and pull calls contain an ID', () => {
    const { RunPodSandboxResponse, CreateContainerResponse, PullImageResponse } = messages;
    const lacks = (check: (name: string) => string | undefined): readonly unknown[] => [check(''), check('x')];
    expect(lacks((podSandboxId) => checks.checkRunPodSandbox(RunPodSandboxResponse.create({ podSandboxId })))).toEqual([
      'podSandboxId is not set',
      undefined,
    ]);
    expect(
      lacks((containerId) => checks.checkCreateContainer(CreateContainerResponse.create({ containerId }))),
    ).toEqual(['containerId is not set', undefined]);
    expect(lacks((imageRef) => checks.checkPullImage(PullImageResponse.create({ imageRef })))).toEqual([
      'imageRef is not set',
      undefined,
    ]);
    expect(lacks((url) => checks.checkStreamingUrl({ url }))).toEqual(['url is not set', undefined]);
  });
});

describe('a runtime without CRI v1', () => {
  it.each([
    [
      undefined,
      'the server at unix:///x does not serve CRI v1: it is not a container runtime, or its CRI plugin is disabled',
    ],
    [
      { runtimeName: 'containerd', runtimeVersion: '1.5.0' },
      'containerd 1.5.0 at unix:///x serves only CRI v1alpha2, but CRI v1 is required: use containerd 1.6, CRI-O 1.23 or newer',
    ],
  ])('the error for a runtime with the v1alpha2 version response %j is: %s', (version, details) => {
    const v1alpha2 = version && messages.VersionResponse.create(version);
    const cause = new Error('unknown service');
    expect(unsupportedRuntime('unix:///x', v1alpha2, cause)).toMatchObject({
      ...{ rpc: 'Version', code: 'UNIMPLEMENTED', details, cause },
    });
  });
});

describe('traceMetadata', () => {
  const traceparent = '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01';
  it.each([
    [undefined, {}],
    [{ traceparent }, { traceparent }],
    [
      { traceparent, tracestate: 'a=b', baggage: 'c=d' },
      { traceparent, tracestate: 'a=b', baggage: 'c=d' },
    ],
    [{ traceparent: 'no' }, {}],
    [{ traceparent: `${traceparent}\r\nx: y` }, {}],
    [{ traceparent, tracestate: 'é' }, { traceparent }],
  ])('traceMetadata for the context %j returns %j', (context, metadata) => {
    expect(traceMetadata(context)).toEqual(metadata);
  });
});
