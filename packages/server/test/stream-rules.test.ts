import { describe, expect, it } from 'vitest';
import { readySandbox, runningContainer } from '../src/endpoints/running-container.ts';
import { forwardedPorts, remoteCommandOptions } from '../src/streams/stream-options.ts';
import { parseStreamingUrl } from '../src/streams/streaming-url.ts';
import { container, pod, running, sandbox } from './running-pod.ts';

describe('streaming rules', () => {
  it.each<[string, object]>([
    ['input=1&output=1&tty=1', { options: { stdin: true, stdout: true, stderr: false, tty: true } }],
    ['output=1&error=1', { options: { stdin: false, stdout: true, stderr: true, tty: false } }],
    ['output=1&error=1&tty=1', { options: { stdin: false, stdout: true, stderr: false, tty: true } }],
    ['error=1&tty=1', { message: 'you must specify at least 1 of stdin, stdout, stderr' }],
    ['output=true', { message: 'you must specify at least 1 of stdin, stdout, stderr' }],
    ['', { message: 'you must specify at least 1 of stdin, stdout, stderr' }],
  ])('the query "%s" of an exec or attach is parsed as %j', (query, expected) => {
    expect(remoteCommandOptions(new URLSearchParams(query))).toEqual(expected);
  });

  it.each<[string, boolean, object]>([
    ['', false, { options: [] }],
    ['port=80', false, { options: [] }],
    ['port=80&port=443,8080', true, { options: [80, 443, 8080] }],
    ['port=1,65535', true, { options: [1, 65_535] }],
    ['port=1e3', true, { message: 'unable to parse "1e3" as a port' }],
    ['', true, { message: 'query parameter "port" is required' }],
    ['port=', true, { message: 'query parameter "port" cannot be empty' }],
    ['port=0', true, { message: 'port "0" must be > 0' }],
    ['port=65536', true, { message: 'unable to parse "65536" as a port' }],
    ['port=80,x', true, { message: 'unable to parse "80,x" as a port' }],
  ])('the query "%s" of a port-forward (over WebSocket: %s) is parsed as $2', (query, isWebSocket, expected) => {
    expect(forwardedPorts(new URLSearchParams(query), isWebSocket)).toEqual(expected);
  });

  it.each([
    ['http://127.0.0.1:1234/exec/token?a=b', { secure: false, host: '127.0.0.1', port: 1234, path: '/exec/token?a=b' }],
    ['https://127.9.9.9/attach/t', { secure: true, host: '127.9.9.9', port: 443, path: '/attach/t' }],
    ['http://[::1]:80/x', { secure: false, host: '::1', port: 80, path: '/x' }],
    ['//127.0.0.1:10010/cri/exec/T', { secure: false, host: '127.0.0.1', port: 10010, path: '/cri/exec/T' }],
    ['//[::1]:10010/cri/exec/T?a=b', { secure: false, host: '::1', port: 10010, path: '/cri/exec/T?a=b' }],
    ['//0.0.0.0:10010/cri/exec/T', { secure: false, host: '127.0.0.1', port: 10010, path: '/cri/exec/T' }],
    ['http://0.0.0.0:1/x', { secure: false, host: '127.0.0.1', port: 1, path: '/x' }],
    ['https://[::]:1/x', { secure: true, host: '::1', port: 1, path: '/x' }],
    ['http://localhost:5/x', { secure: false, host: 'localhost', port: 5, path: '/x' }],
  ])('the streaming URL %s is parsed as %j', (url, expected) => {
    expect(parseStreamingUrl(url)).toEqual(expected);
  });

  it.each([
    'http://10.0.0.1/x',
    '//10.0.0.1/x',
    '//u@127.0.0.1/x',
    '//127.0.0.1.evil.example/x',
    '///x',
    '//',
    'http://[::2]/x',
    'http://127.0.0.1.evil.example/x',
    'http://localhost.evil.example/x',
    'http://127.0.0.1@10.0.0.1/x',
    'http://user@127.0.0.1/x',
    'http://[::ffff:10.0.0.1]/x',
    'file:///etc/passwd',
    '/exec/token',
    '',
    'http://',
  ])('W4: refuses the streaming URL %s', (url) => {
    expect(() => parseStreamingUrl(url)).toThrow(expect.objectContaining({ code: 'BadStreamingUrl' }));
  });

  it.each([
    ['', 'is no URL'],
    ['ftp://127.0.0.1/x', 'must have the scheme http or https, not ftp'],
    ['http://u@127.0.0.1/x', 'must not contain a user'],
    ['http://:p@127.0.0.1/x', 'must not contain a user'],
    ['http://10.0.0.1/x', 'leads to 10.0.0.1, which is not loopback'],
  ])('W4: the error for the streaming URL %j says only that it %s', (url, fault) => {
    expect(() => parseStreamingUrl(url)).toThrow(
      expect.objectContaining({ message: `the container runtime's streaming URL ${fault}` }),
    );
  });

  it('finds the newest running container of the pod with the given UID', () => {
    const dead = { ...container, id: 'c0', state: 'exited' } as const;
    const newer = { ...container, id: 'c2', createdAtMs: 2 };
    const before = { ...running, uid: 'u0' };
    expect(runningContainer([before, { ...running, containers: [dead, container, newer] }], pod, 'main')).toEqual({
      id: 'c2',
    });
    const message = 'container not found ("main")';
    expect(runningContainer([before, { ...running, containers: [dead] }], pod, 'main')).toEqual({ message });
    expect(runningContainer([], pod, 'main')).toEqual({ message });
  });

  it('finds the newest ready sandbox of the pod with the given UID', () => {
    const sandboxes = [
      sandbox,
      { ...sandbox, id: 's2', attempt: 1 },
      { ...sandbox, id: 's3', attempt: 2, state: 'notReady' as const },
    ];
    expect(readySandbox([{ ...running, sandboxes }], pod)).toEqual({ id: 's2' });
    const twice = [1, 3, 2].map((createdAtMs) => ({ ...sandbox, id: `s${createdAtMs}`, createdAtMs }));
    expect(readySandbox([{ ...running, sandboxes: twice }], pod)).toEqual({ id: 's3' });
    expect(readySandbox([], pod)).toEqual({ message: 'pod not found ("web_default")' });
  });
});
