import { plain } from '../plain.ts';

type Child = Node | string | undefined;

/** Creates an element. Text is set as text, never as markup. */
export function element<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  for (const child of children) {
    if (child !== undefined) made.append(typeof child === 'string' ? plain(child) : child);
  }
  return made;
}

/** Returns an element of the page by its id. @throws Error if the page has no such element */
export function byId<T extends HTMLElement = HTMLElement>(id: string): T {
  const found = document.getElementById(id);
  if (found === null) throw new Error(`the page has no element ${id}`);
  return found as T;
}

/** Sets the text of an element, if it differs: an unchanged text must not be announced or laid out again. */
export function setText(target: Element, text: string): void {
  const shown = plain(text);
  if (target.textContent !== shown) target.textContent = shown;
}

/** Sets or removes an attribute, if it differs. */
export function setAttribute(target: Element, name: string, value: string | undefined): void {
  if (value === undefined) target.removeAttribute(name);
  else if (target.getAttribute(name) !== value) target.setAttribute(name, value);
}

/**
 * Replaces the children of an element by a list of elements, in order. Children that are already there stay: they keep
 * the focus, and are not laid out again.
 */
export function setChildren(parent: Element, children: readonly Element[]): void {
  const wanted = new Set<Element>(children);
  for (const child of [...parent.children]) if (!wanted.has(child)) child.remove();
  for (const [index, child] of children.entries()) {
    const present = parent.children[index];
    if (present !== child) parent.insertBefore(child, present ?? null);
  }
}
