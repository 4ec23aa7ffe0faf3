export {
  Dashboard,
  type DashboardAnswer,
  type DashboardComponents,
  type DashboardOptions,
  type DashboardRequest,
} from './dashboard.ts';
export type {
  DashboardExplanation,
  DashboardLogOptions,
  DashboardNode,
  DashboardNodeObject,
} from './ports.ts';
export type { FetchHeaders } from './request-problem.ts';
export type { StoryStep } from './wire.ts';
