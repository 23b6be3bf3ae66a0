import './scalars.ts';
import './upload.ts';
import './rate-limit.graph.ts';
import '../links/account.graph.ts';
import '../links/branded-domain.graph.ts';
import '../links/campaign.graph.ts';
import '../links/channel.graph.ts';
import '../links/cta-overlay.graph.ts';
import '../links/file.graph.ts';
import '../links/login-url.graph.ts';
import '../links/pixel.graph.ts';
import '../links/plan.graph.ts';
import '../links/qr-code.graph.ts';
import '../links/splash-page.graph.ts';
import '../links/user.graph.ts';
import '../market/item.graph.ts';
import '../market/purchase.graph.ts';
import '../market/seller.graph.ts';
import { builder } from './builder.ts';

/** The graph. Every noun adds its part to the builder when it is imported. */
export const schema = builder.toSchema();
