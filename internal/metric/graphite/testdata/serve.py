"""Serves Graphite's web application, as Debian has it, on a port of the loopback: serve.py FOLDER PORT.

The folder gets two series of one-minute values: stats.shop.errors has 0.01 three minutes ago and 0.03 two minutes ago, stats.shop.silent has none.
"""
import os
import sys
import time

folder, port = sys.argv[1], int(sys.argv[2])
with open(os.path.join(folder, 'sluice_settings.py'), 'w') as settings:
    settings.write("""
SECRET_KEY = 'test'
TIME_ZONE = 'UTC'
STORAGE_DIR = CONF_DIR = %(folder)r
WHISPER_DIR = %(folder)r + '/whisper'
STANDARD_DIRS = [WHISPER_DIR]
LOG_DIR = %(folder)r + '/log'
INDEX_FILE = %(folder)r + '/index'
CARBONLINK_HOSTS = []
DATABASES = {'default': {'NAME': %(folder)r + '/graphite.db', 'ENGINE': 'django.db.backends.sqlite3'}}
""" % {'folder': folder})
os.makedirs(os.path.join(folder, 'log'))
shop = os.path.join(folder, 'whisper', 'stats', 'shop')
os.makedirs(shop)
sys.path.insert(0, folder)
os.environ['GRAPHITE_SETTINGS_MODULE'] = 'sluice_settings'
os.environ['DJANGO_SETTINGS_MODULE'] = 'graphite.settings'

import whisper

now = int(time.time())
for name, values in {'errors': [(now - 180, 0.01), (now - 120, 0.03)], 'silent': []}.items():
    path = os.path.join(shop, name + '.wsp')
    whisper.create(path, [(60, 60)])
    whisper.update_many(path, values)

import django

django.setup()

from django.core.management import call_command

call_command('migrate', verbosity=0, run_syncdb=True)

from wsgiref.simple_server import make_server

from graphite.wsgi import application

make_server('127.0.0.1', port, application).serve_forever()
