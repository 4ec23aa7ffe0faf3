import { badRequest } from './failure.ts';
import type { JsonObject } from './json.ts';
import type { Selector } from './label-selector.ts';

/** The fields that a resource can be selected by, each with what an object has there. */
export type SelectableFields = Readonly<Record<string, (object: JsonObject) => string>>;

/** What a field selector says of one field. */
export interface FieldTerm {
  readonly field: string;
  readonly equal: boolean;
  readonly value: string;
}

/** A field selector's terms: `spec.nodeName=n,status.phase!=Failed`; `\,`, `\=`, `\\` stand for themselves. @throws ApiFailure 400 */
export function parseFieldTerms(text: string): readonly FieldTerm[] {
  const parts = text.match(/(?:\\.|[^,\\])+/g) ?? [];
  return parts.map((part) => {
    const [, field = '', operator = '', value = ''] = /^((?:\\.|[^=!\\])+)(==|=|!=)((?:\\.|[^=\\])*)$/.exec(part) ?? [];
    if (operator === '') throw badRequest(`invalid selector: '${text}'; can't understand '${part}'`);
    return { field: field.trim(), equal: operator !== '!=', value: value.replaceAll(/\\(.)/g, '$1').trim() };
  });
}

/** @throws ApiFailure 400 where the resource cannot be selected by a field */
export function fieldSelector(terms: readonly FieldTerm[], fields: SelectableFields): Selector<JsonObject> | undefined {
  if (terms.length === 0) return undefined;
  const tests = terms.map(({ field, equal, value }) => {
    const read = Object.hasOwn(fields, field) ? fields[field] : undefined;
    if (read === undefined) throw badRequest(`field label not supported: ${field}`);
    return (object: JsonObject) => (read(object) === value) === equal;
  });
  return (object) => tests.every((test) => test(object));
}
