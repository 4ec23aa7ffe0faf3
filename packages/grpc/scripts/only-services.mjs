/**
 * Returns the schema with only the named services, and the messages and enums that they use.
 *
 * @param {import('./schema.mjs').Schema} schema
 * @param {string[] | undefined} names all services if undefined
 */
export function onlyServices(schema, names) {
  if (names === undefined) return schema;
  const unknown = names.find((name) => !schema.services.some((service) => service.name === name));
  if (unknown !== undefined) throw new Error(`no service ${unknown}`);
  const services = schema.services.filter(({ name }) => names.includes(name));
  const used = new Set(services.flatMap(({ rpcs }) => rpcs.flatMap(({ request, response }) => [request, response])));
  // The loop also visits the names that it adds to the set.
  for (const name of used) {
    const { fields = [] } = schema.messages.find((message) => message.name === name) ?? {};
    for (const { kind, type } of fields) if (kind !== 'scalar') used.add(type);
  }
  return {
    services,
    messages: schema.messages.filter(({ name }) => used.has(name)),
    enums: schema.enums.filter(({ name }) => used.has(name)),
  };
}
