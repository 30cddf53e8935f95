import type { Ajv, AnySchema, ValidateFunction } from 'ajv';

/**
 * Makes ajv compile each schema at its first validation. The schemas of all routes take half a second and 30 MB at the start of a front,
 * and most of that is for routes that are rarely called.
 */
export function compileOnUse(ajv: Ajv): Ajv {
  const compile = ajv.compile.bind(ajv);
  ajv.compile = ((schema: AnySchema) => {
    let validator: ValidateFunction | undefined;
    const compiled = () => (validator ??= compile(schema));
    // Fastify calls the validator and reads its properties, such as its errors.
    return new Proxy((() => false) as unknown as ValidateFunction, {
      apply: (_target, self, values: Parameters<ValidateFunction>) => compiled().apply(self, values),
      get: (_target, name) => Reflect.get(compiled(), name) as unknown,
    });
  }) as Ajv['compile'];
  return ajv;
}
