import { Type, type Static } from 'typebox';

/** Status values of the interface, from best to worst. */
export const statusValues = ['operational', 'degraded_performance', 'partial_outage', 'major_outage'] as const;
export type StatusValue = (typeof statusValues)[number];

const status = () => Type.Unsafe<StatusValue>({ type: 'string', enum: [...statusValues] });

export const componentStatusSchema = Type.Object({
  name: Type.String({ description: 'api, queue, storage, engine, or engine.<region>.' }),
  status: status(),
  responseTimeMs: Type.Optional(Type.Integer({ minimum: 0 })),
  message: Type.Optional(Type.String()),
  lastCheckedAt: Type.String({ format: 'date-time' }),
});

export const overallStatusSchema = Type.Object({
  status: status(),
  components: Type.Optional(Type.Array(componentStatusSchema)),
  lastCheckedAt: Type.String({ format: 'date-time' }),
});

export type ComponentStatus = Static<typeof componentStatusSchema>;
export type OverallStatus = Static<typeof overallStatusSchema>;

/** The worse of the two. */
export function worse(a: StatusValue, b: StatusValue): StatusValue {
  return statusValues.indexOf(a) >= statusValues.indexOf(b) ? a : b;
}
