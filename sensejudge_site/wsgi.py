"""The WSGI entry point for any production server."""

import os

from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "sensejudge_site.settings")

from sensejudge_site.middleware import HeadWithoutBody, WholeBodies

application = HeadWithoutBody(WholeBodies(get_wsgi_application()))
