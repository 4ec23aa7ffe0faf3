import { existsSync } from 'node:fs';

/** The browser of Debian's package `chromium-headless-shell`, or one that is named by CHROMIUM. */
export const CHROMIUM: string =
  process.env.CHROMIUM ??
  ['/usr/bin/chromium-headless-shell', '/usr/bin/chromium'].find((path) => existsSync(path)) ??
  '';
