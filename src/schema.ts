import { specifiedDirectives } from 'graphql';
import './graph/scalars.ts';
import './graph/ids/nodes.graph.ts';
import './graph/rate-limit.graph.ts';
import './graph/history.graph.ts';
import './links/account/account.graph.ts';
import './links/brand/branded-domain.graph.ts';
import './links/content/campaign.graph.ts';
import './links/content/channel.graph.ts';
import './links/content/channels-of-item.graph.ts';
import './links/brand/domain-files.graph.ts';
import './links/brand/cta-overlay.graph.ts';
import './links/content/file.graph.ts';
import './links/account/login-url.graph.ts';
import './links/brand/pixel.graph.ts';
import './links/account/plan.graph.ts';
import './links/account/plan-usage.graph.ts';
import './links/account/plan-users.graph.ts';
import './links/content/qr-code.graph.ts';
import './links/brand/splash-page.graph.ts';
import './links/account/user.graph.ts';
import './links/previous.graph.ts';
import './graph/jobs/job.graph.ts';
import './graph/jobs/start-jobs.graph.ts';
import './graph/usage.graph.ts';
import './market/item.graph.ts';
import './market/purchase.graph.ts';
import './market/seller.graph.ts';
import { builder } from './graph/builder.ts';
import {
  idempotentDirective,
  incrementalDirectives,
  liveDirective,
} from './graph/directives/directives.ts';
import { semanticNonNullDirective } from './graph/directives/semantic-non-null.ts';

/** The graph. Every noun adds its part to the builder when it is imported. */
export const schema = builder.toSchema({
  directives: [
    ...specifiedDirectives,
    idempotentDirective,
    ...incrementalDirectives,
    liveDirective,
    semanticNonNullDirective,
  ],
});

schema.description = `One graph over a link-management API (\`account\`, \`channels\`, \`qrCodes\` and more) and a marketplace API (\`seller\`, \`items\`, \`purchase\`).

Both APIs have a rate limit. The description of each field states its cost in upstream requests. \`rateLimit\` returns the remaining budget, and \`extensions.upstream\` of a response states what the operation cost. Lists are Relay connections. A mutation returns the changed object, \`InvalidInput\`, \`Rejected\` or, for an update with \`expected\`, \`Conflict\`. \`extensions.code\` of an error is stable; its message is not. \`@live\` keeps a response current; \`@defer\` and \`@stream\` deliver it in parts.`;
