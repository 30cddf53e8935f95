import { type Static, Type } from 'typebox';
import { status } from './status.ts';

/** Number of days that are kept and shown, including today. Days are in UTC. */
export const historyDays = 90;

const seconds = (description: string) => Type.Optional(Type.Integer({ minimum: 1, description }));
const time = (description: string) => Type.String({ format: 'date-time', description });

const daySchema = Type.Object(
  {
    date: Type.String({ format: 'date', description: 'The day, from 00:00 to 24:00 UTC.' }),
    operational: seconds('Seconds.'),
    degraded_performance: seconds('Seconds.'),
    partial_outage: seconds('Seconds.'),
    major_outage: seconds('Seconds.'),
    noData: seconds('Seconds in which the component was not observed.'),
  },
  { description: 'Seconds in each state. A state that did not occur is left out. The last day is today, until now.' },
);

const incidentUpdateSchema = Type.Object({
  at: Type.String({ format: 'date-time' }),
  status: status(),
  message: Type.String(),
});

export const statusHistorySchema = Type.Object({
  generatedAt: time('Time of this response.'),
  components: Type.Array(
    Type.Object({
      name: Type.String({ description: 'Name of the component, as in GET /status. The component api has no history.' }),
      observedUntil: time('Time until which the component was observed.'),
      uptimePercent: Type.Union([Type.Number({ minimum: 0, maximum: 100 }), Type.Null()], {
        description:
          'Share of the observed time in which the component was operational or had a degraded performance, rounded down; null if it was not observed.',
      }),
      days: Type.Array(daySchema, {
        maxItems: historyDays,
        description: 'Oldest first. Days before the first observation are left out.',
      }),
    }),
  ),
  incidents: Type.Array(
    Type.Object({
      id: Type.String({ description: 'The same in all responses.' }),
      component: Type.String(),
      status: status(),
      startedAt: Type.String({ format: 'date-time' }),
      endedAt: Type.Union([Type.String({ format: 'date-time' }), Type.Null()], { description: 'Null while it lasts.' }),
      message: Type.String({ description: 'The reason of the worst state.' }),
      updates: Type.Array(incidentUpdateSchema, { description: 'The states that it went through, oldest first.' }),
      interruptions: Type.Integer({
        minimum: 0,
        description: 'How often the component recovered and failed again in the meantime.',
      }),
    }),
    { description: 'Newest first. Incidents that follow each other closely, or many of one day, are one incident.' },
  ),
});

export type StatusHistory = Static<typeof statusHistorySchema>;
export type HistoryDay = StatusHistory['components'][number]['days'][number];
export type Incident = StatusHistory['incidents'][number];
