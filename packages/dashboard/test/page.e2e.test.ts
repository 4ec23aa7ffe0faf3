import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { Dashboard } from '../src/index.ts';
import { CHROMIUM } from './browser.ts';
import { crashExplanation, FakeLog, FakeNode, fakePod } from './fake-node.ts';
import { serve } from './serve.ts';

const eventually = <T>(read: () => T): ReturnType<typeof expect.poll<T>> => expect.poll(read, { timeout: PATIENCE_MS });
const LAUNCH = { executablePath: CHROMIUM, args: ['--no-sandbox', '--disable-dev-shm-usage'] };

let browser: Browser;
let node: FakeNode;
let dashboard: Dashboard;

/** Deadlines are generous, because the tests of other packages may run beside these. */
const PATIENCE_MS = 120_000;

describe.skipIf(CHROMIUM === '')(
  'the page in Chromium (skipped without chromium-headless-shell)',
  { timeout: 2 * PATIENCE_MS },
  () => {
    beforeAll(async () => {
      browser = await chromium.launch(LAUNCH);
    }, PATIENCE_MS);
    afterAll(async () => {
      await browser?.close();
    }, PATIENCE_MS);
    beforeEach(() => {
      node = new FakeNode();
      dashboard = new Dashboard({ node }, { podPeriodMs: 50, usagePeriodMs: 200 });
    });

    /** Opens the page, runs a test, and checks that the page reported no error and asked no other host. */
    async function withPage(
      test: (page: Page) => Promise<void>,
      options: BrowserContextOptions & { readonly expected?: RegExp } = {},
    ): Promise<void> {
      await using served = await serve(dashboard);
      const context = await browser.newContext({ viewport: { width: 1300, height: 800 }, ...options });
      const problems: string[] = [];
      try {
        context.setDefaultTimeout(PATIENCE_MS);
        const page = await context.newPage();
        page.on('pageerror', (error) => problems.push(String(error)));
        page.on('console', (message) => problems.push(message.text()));
        page.on('dialog', (dialog) => problems.push(`dialog: ${dialog.message()}`));
        page.on('request', (request) => {
          if (!request.url().startsWith(served.url) && !request.url().startsWith('data:')) problems.push(request.url());
        });
        await page.goto(served.url);
        await test(page);
      } finally {
        await context.close();
      }
      expect(problems.filter((problem) => options.expected?.test(problem) !== true)).toEqual([]);
      // The page has left, so its place is free again.
      await eventually(() => dashboard.openPages).toBe(0);
    }

    const pod = (page: Page, name: string) => page.getByRole('row', { name: new RegExp(name) });

    it('the page shows pods, node and eviction thresholds, and follows a pod that is created, fails and is deleted', async () => {
      node.list = [fakePod({ name: 'web' })];
      await withPage(async (page) => {
        await pod(page, 'web').getByText('Running').waitFor();
        await page.getByText('1 pod, all as they should be').waitFor();
        await page.getByText('Live').waitFor();
        expect(await page.title()).toBe('edge-7');
        await page.getByText('Eviction thresholds').click();
        const row = page.getByRole('row', { name: /nodefs.available/ });
        expect(await row.textContent()).toMatch(/< 10%9.0 Gi1.0 Gi away/);
        await page.getByRole('img', { name: /^CPU of the last \d+ minutes: now \d.*of 4 CPUs/ }).waitFor();

        node.list = [...node.list, fakePod({ name: 'api', state: 'waiting' })];
        await pod(page, 'api').getByText('ContainerCreating').waitFor();
        node.explanations.set('default/api', crashExplanation(Date.now()));
        node.list = [node.list[0] as never, fakePod({ name: 'api', state: 'crashing', restarts: 4 })];
        await pod(page, 'api').getByText('main: Error (exit 1), 4 restarts').waitFor();
        await page.getByText('2 pods, 1 not ready').waitFor();

        await pod(page, 'api').click();
        const panel = page.getByRole('tabpanel', { name: 'Timeline' });
        await panel.getByText('main: Error (exit 1), 4 restarts; next restart in 38 s').waitFor();
        await panel.getByText('Sandbox').waitFor();
        await panel.getByText('exit 1: no such database').waitFor();
        node.explanations.clear();
        node.list = node.list.slice(0, 1);
        await panel.getByText('The node no longer has this pod.').waitFor();
        await panel.getByText('Sandbox').waitFor();
        await page.getByText('Gone', { exact: true }).waitFor();
        expect(await pod(page, 'api').count()).toBe(0);
        await page.goBack();
        await page.getByRole('region', { name: 'api' }).waitFor({ state: 'hidden' });
      });
    });

    it('the page follows a log, pauses when the user scrolls, limits the number of lines, and continues after a restart of the container', async () => {
      const log = new FakeLog();
      node.logs.set('containerd://uid-default-web', log);
      node.list = [fakePod({ name: 'web' })];
      log.write('first line\n');
      await withPage(async (page) => {
        await pod(page, 'web').click();
        await page.getByRole('tab', { name: 'Containers' }).click();
        await page.getByRole('button', { name: 'Log of main' }).click();
        const box = page.getByRole('region', { name: 'Log of main' });
        await box.getByText('first line').waitFor();
        log.write('second line\n');
        await box.getByText('second line').waitFor();
        log.write(Array.from({ length: 5000 }, (_none, index) => `line ${index}\n`).join(''));
        await box.getByText('line 4999').waitFor();
        expect(await box.locator('> div').count()).toBeLessThanOrEqual(2000);
        const atEnd = (): Promise<boolean> =>
          box.evaluate((one) => one.scrollHeight - one.scrollTop - one.clientHeight < 5);
        expect(await atEnd()).toBe(true);
        await box.evaluate((one) => {
          one.scrollTop = 0;
        });
        await eventually(() => page.getByLabel('scroll').isChecked()).toBe(false);
        log.write('unseen\n');
        await box.getByText('unseen').waitFor({ state: 'attached' });
        expect(await atEnd()).toBe(false);

        log.end();
        await page.getByText('The log has ended.').waitFor();
        const again = new FakeLog();
        again.write('after the restart\n');
        node.logs.set('containerd://uid-default-web', again);
        node.list = [fakePod({ name: 'web', restarts: 1 })];
        await box.getByText('after the restart').waitFor({ state: 'attached' });
        expect(again.readers).toBe(1);
        await page.getByRole('tab', { name: 'Timeline' }).click();
        await eventually(() => again.readers).toBe(0);
      });
    });

    it('W5: the page shows hostile names, labels, images, messages and logs as text, and runs nothing', async () => {
      const script = '<script>alert(1)</script>';
      const image = `<img src=x onerror=alert(2)>`;
      const log = new FakeLog();
      log.write(`${script}\n\u001B[31m${image}\u001B]8;;http://evil.example\u001B\\\n\u202Etxt.exe\n`);
      log.write(Uint8Array.of(0xff, 0xfe, 0x0a));
      log.write(Buffer.alloc(1024 * 1024, '<b>'));
      log.write('\nend of the log\n');
      node.logs.set('containerd://evil', log);
      const evil = {
        uid: 'evil',
        name: 'x<script>alert(3)',
        namespace: '__proto__',
        labels: { [image]: script, constructor: '\u202Egnp' },
        image: `reg/${image}`,
        reason: script,
        message: `${image} \u001B[2J \u2066`,
      };
      node.list = [fakePod({ ...evil, state: 'crashing' }), fakePod({ name: 'web' })];
      node.explanations.set('__proto__/x<script>alert(3)', {
        ...crashExplanation(Date.now()),
        causes: [`${script}${'y'.repeat(100_000)}`],
        events: [{ type: image, reason: script, message: '\u202E', count: 1, lastAtMs: Number.NaN }],
      });
      await withPage(
        async (page) => {
          const row = page.getByRole('row').filter({ hasText: 'x<script>alert(3)' }).first();
          await row.waitFor();
          await page.locator('#pod-rows button').first().click();
          const panel = page.getByRole('tabpanel', { name: 'Timeline' });
          await panel.getByText(script).first().waitFor();
          await page.getByRole('tab', { name: 'Containers' }).click();
          await page.getByText(`reg/${image}`).waitFor();
          expect(await page.locator('#pod-facts').textContent()).toContain('‹202E›gnp');
          node.list = [fakePod({ ...evil, state: 'running' })];
          await page.getByRole('tab', { name: 'Log' }).click();
          const box = page.locator('#log');
          await box.getByText('end of the log').waitFor();
          const lines = await box.locator('> div').allTextContents();
          expect(lines.slice(0, 4)).toEqual([script, image, '‹202E›txt.exe', '\uFFFD\uFFFD']);
          expect(lines[4]).toMatch(/^<b><b>.* … \(\d+ more characters\)$/);
          // No part of a pod's text became an element.
          expect(await page.locator('main script, main img, main a, main b').count()).toBe(0);
          // The content security policy refuses markup and scripts, even if the page's own code were wrong.
          const refused = await page.evaluate(() => {
            const problems: string[] = [];
            try {
              document.body.innerHTML = '<p>x</p>';
            } catch (error) {
              problems.push((error as Error).name);
            }
            return problems;
          });
          expect(refused).toEqual(['TypeError']);
        },
        { expected: /^This document requires 'TrustedHTML' assignment/ },
      );
    });

    it('the page can be used with the keyboard alone, and all its elements have an accessible name and role', async () => {
      node.list = [fakePod({ name: 'api', state: 'crashing' }), fakePod({ name: 'db' }), fakePod({ name: 'web' })];
      await withPage(async (page) => {
        await pod(page, 'web').waitFor();
        const focused = (): Promise<string> => page.evaluate(() => document.activeElement?.textContent?.trim() ?? '');
        await page.keyboard.press('/');
        expect(await page.evaluate(() => document.activeElement?.id)).toBe('filter');
        await page.keyboard.type('db');
        await pod(page, 'api').waitFor({ state: 'detached' });
        await page.keyboard.press('Escape');
        await pod(page, 'api').waitFor();
        await page.keyboard.press('Tab');
        expect(await focused()).toContain('api');
        await page.keyboard.press('ArrowDown');
        await page.keyboard.press('ArrowDown');
        expect(await focused()).toContain('web');
        await page.keyboard.press('ArrowUp');
        expect(await focused()).toContain('db');
        // When the focused pod is removed, the focus stays in the table.
        node.list = node.list.filter(({ metadata }) => metadata.name !== 'db');
        await eventually(focused).toContain('web');
        await page.keyboard.press('Enter');
        await eventually(focused).toBe('web');
        await page.keyboard.press('Tab');
        await page.keyboard.press('Tab');
        expect(await focused()).toBe('Timeline');
        await page.keyboard.press('ArrowRight');
        expect(await focused()).toBe('Containers');
        await page.keyboard.press('ArrowRight');
        await page.getByRole('tabpanel', { name: 'Log' }).waitFor();
        await page.keyboard.press('Escape');
        await eventually(focused).toContain('web');
        const tree = await page.locator('body').ariaSnapshot();
        for (const part of [
          '- banner',
          '- main',
          'heading "edge-7"',
          'region "Pods"',
          'columnheader "State"',
          'status: Live',
        ]) {
          expect(tree).toContain(part);
        }
        const unnamed = await page.evaluate(
          () =>
            [...document.querySelectorAll('button, input, select')].filter(
              (one) => !(one.textContent || (one as HTMLInputElement).labels?.length || one.getAttribute('aria-label')),
            ).length,
        );
        expect(unnamed).toBe(0);
      });
    });

    it('the page shows 200 changing pods without a layout jump', async () => {
      const states = ['running', 'crashing', 'waiting'] as const;
      const many = (round: number) =>
        Array.from({ length: 200 }, (_none, index) =>
          fakePod({
            name: `pod-${String(index).padStart(3, '0')}`,
            state: states[(index + round) % 3] ?? 'running',
            restarts: round,
          }),
        );
      node.list = many(0);
      await withPage(async (page) => {
        await page.getByText('200 pods').waitFor();
        await page.getByText(/of 4 CPUs/).waitFor();
        await page.waitForTimeout(300);
        await page.evaluate(() => {
          const seen = { shift: 0 };
          Object.assign(window, { seen });
          new PerformanceObserver((list) => {
            for (const entry of list.getEntries()) seen.shift += (entry as PerformanceEntry & { value: number }).value;
          }).observe({ type: 'layout-shift' });
        });
        for (let round = 1; round <= 10; round += 1) {
          node.list = many(round);
          await page.waitForTimeout(120);
        }
        await eventually(() => pod(page, 'pod-199').textContent()).toMatch(/10/);
        const { shift } = await page.evaluate(() => (window as unknown as { seen: { shift: number } }).seen);
        expect(shift).toBe(0);
        expect(await page.getByRole('row').count()).toBe(201);
      });
    });

    it('the page follows the preferred colour scheme, and shows when the connection is lost and established again', async () => {
      node.list = [fakePod({ name: 'web' })];
      const background = (page: Page): Promise<string> =>
        page.evaluate(() => getComputedStyle(document.body).backgroundColor);
      await withPage(
        async (page) => {
          await pod(page, 'web').waitFor();
          const dark = await background(page);
          await page.emulateMedia({ colorScheme: 'light' });
          expect([dark, await background(page)]).toEqual(['rgb(20, 23, 28)', 'rgb(244, 245, 247)']);
        },
        { colorScheme: 'dark' },
      );
      const served = await serve(dashboard);
      const page = await browser.newPage();
      await page.goto(served.url);
      page.setDefaultTimeout(PATIENCE_MS);
      await page.getByText('Live').waitFor();
      await served[Symbol.asyncDispose]();
      await page.getByText('Not connected: the kubelet cannot be reached').waitFor();
      await page.close();
    });

    it('the page shows that too many pages are open', async () => {
      dashboard = new Dashboard({ node }, { maxPages: 1 });
      await withPage(
        async (page) => {
          await page.getByText('Live').waitFor();
          const second = await page.context().newPage();
          await second.goto(page.url());
          await second.getByText('Not connected: 1 pages are open, which is the maximum').waitFor();
        },
        { expected: /status of 429/ },
      );
    });
  },
);
