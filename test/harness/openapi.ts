import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js';
import addFormats from 'ajv-formats';

interface OpenApiDocument {
  readonly openapi: string;
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
}

interface Operation {
  readonly responses: Readonly<Record<string, { readonly $ref?: string; readonly content?: Record<string, unknown> }>>;
}

/** Holds answers against what `/openapi.json` says about them. */
export class AnswerCheck {
  readonly document: OpenApiDocument;
  readonly #ajv = new Ajv2020({ strict: false, allErrors: true, validateSchema: false });
  readonly #compiled = new Map<string, ValidateFunction>();

  constructor(document: OpenApiDocument) {
    this.document = document;
    // Ships as CommonJS: its function is the module itself as well as its default.
    (addFormats as unknown as typeof addFormats.default)(this.#ajv);
    this.#ajv.addSchema(document, 'openapi');
  }

  static async load(url: string): Promise<AnswerCheck> {
    const response = await fetch(url);
    return new AnswerCheck((await response.json()) as OpenApiDocument);
  }

  /** What is wrong with a JSON answer: empty when the document describes it. `path` is as in the document. */
  problems(answer: { path: string; method: string; status: number; mediaType: string; body: unknown }): string[] {
    const { path, status, mediaType } = answer;
    const method = answer.method.toLowerCase();
    const where = `${answer.method} ${path}, status ${status}, ${mediaType}`;
    const response = this.document.paths[path]?.[method]?.responses[String(status)];
    if (response === undefined) return [`/openapi.json does not describe ${where}`];
    const steps = ['paths', path, method, 'responses', String(status)].map(escapeStep);
    const base = response.$ref === undefined ? `/${steps.join('/')}` : response.$ref.slice(1);
    const pointer = `openapi#${base}/content/${escapeStep(mediaType)}/schema`;
    try {
      const validate = this.#compiled.get(pointer) ?? this.#ajv.compile({ $ref: pointer });
      this.#compiled.set(pointer, validate);
      if (validate(answer.body)) return [];
      return (validate.errors ?? []).map((error) => `${where}: ${error.instancePath || '/'} ${error.message ?? ''}`);
    } catch (error) {
      return [`/openapi.json has no schema for ${where}: ${String(error)}`];
    }
  }
}

/** A step of a JSON pointer inside of a URI fragment. */
function escapeStep(step: string): string {
  return encodeURIComponent(step.replaceAll('~', '~0').replaceAll('/', '~1'));
}
